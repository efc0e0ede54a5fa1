# SPDX-License-Identifier: Apache-2.0
"""A wave packet in a trap, one of several independent runs: the Schroedinger equation with a nonlinear term (Gross and
Pitaevskii) on a cube of SIDE**3 points, by Fourier transforms of SciPy on two threads.

    python3 waves.py RANK STEPS

Writes a line to out.RANK after each step: its number, and the packet's norm and width."""

import sys
from pathlib import Path

import numpy
import scipy.fft

SIDE, STEP, FORCE = 64, 0.01, 50.0
rank, steps = map(int, sys.argv[1:])

place = numpy.linspace(-8, 8, SIDE, endpoint=False)
x, y, z = numpy.meshgrid(place, place, place, indexing="ij", sparse=True)
trap = (x * x + y * y * (1 + rank / 10) + z * z) / 2
wave = numpy.exp(-((x - 1) ** 2 + y * y + z * z) / 2).astype(complex)
k = 2 * numpy.pi * scipy.fft.fftfreq(SIDE, 16 / SIDE)
kx, ky, kz = numpy.meshgrid(k, k, k, indexing="ij", sparse=True)
drift = numpy.exp(-0.5j * STEP * (kx * kx + ky * ky + kz * kz))

with Path(f"out.{rank}").open("w", buffering=1) as out:
    for step in range(1, steps + 1):
        density = (wave * wave.conj()).real
        wave *= numpy.exp(-1j * STEP * (trap + FORCE * density))
        wave = scipy.fft.fftn(wave, overwrite_x=True, workers=2)
        wave *= drift
        wave = scipy.fft.ifftn(wave, overwrite_x=True, workers=2)
        print(step, repr(float(density.sum())), repr(float((density * x * x).sum())), file=out)
