# SPDX-License-Identifier: Apache-2.0
"""The host's side of the testbed: root trees, images, machines and the driver of a guest."""
