# SPDX-License-Identifier: Apache-2.0
"""A node with Optane modules, as a script that stands in for ipmctl shows it. The script gives recorded answers of the
real one (tests/fixtures/ipmctl), and keeps the pending goal in a file."""

from pathlib import Path

from bootnote import BootNote
from installed import helper

ANSWERS = Path(__file__).parents[1] / "fixtures" / "ipmctl"
SCRIPT = """#!/bin/sh
cd {folder}
echo "$*" >> calls
ls -A /tmp > tmp
readlink /proc/self/ns/ipc > ipc
env > env
[ ! -e hangs ] || {{ echo $$ > hangs && exec sleep 600; }}
say() {{ cat "{answers}/$1.txt"; }}
case "$*" in
"show -o nvmxml -u B -memoryresources") say "$(cat mode)" ;;
"show -o nvmxml -u B -dimm") say modules ;;
"show -a -o nvmxml -u B -system -capabilities") say "$(cat abilities)" ;;
"show -o nvmxml -u B -goal") say "$(cat goal)" ;;
"create -f -o nvmxml -u B -goal PersistentMemoryType=AppDirect") echo goal-flat > goal; say goal-flat ;;
"create -f -o nvmxml -u B -goal MemoryMode=100") echo goal-cache > goal; say goal-cache ;;
"create -f -o nvmxml -u B -goal MemoryMode=50 PersistentMemoryType=AppDirect") echo goal-mixed > goal; say goal-mixed ;;
"delete -o nvmxml -goal") echo goal-none > goal; say delete ;;
*) echo "this is no command: $*"; exit 201 ;;
esac
exit "$(cat status)"
"""


class Node:
    """A node in a mode, as a stand-in for ipmctl shows it."""

    def __init__(self, folder, configure):
        self.folder, self.program = folder, folder / "ipmctl"
        self.program.write_text(SCRIPT.format(folder=folder, answers=ANSWERS))
        self.program.chmod(0o700)
        self.set(mode="flat-resources", goal="goal-none", abilities="abilities", status="0")
        self.note = BootNote(folder)
        self.config = configure(f"run_dir = {folder}/run\nstate_dir = {folder}/notes\nmemmode_mixed = 50%")

    def set(self, **values):
        for name, value in values.items():
            (self.folder / name).write_text(f"{value}\n")

    def run(self, *words, status=0):
        first, rest = (words[:1], words[1:]) if words[:1] == ("memmode",) else ((), words)
        return helper(
            "hybridmem-memmode", *first, f"--config={self.config}", f"--ipmctl={self.program}", *rest, status=status
        )

    def fails(self, *words, status=1):
        done = self.run(*words, status=status)
        assert done.stdout == "" and done.stderr.count("\n") == 1
        return done.stderr

    def check(self, *words, **more):
        return self.note.check(f"--config={self.config}", f"--ipmctl={self.program}", *words, **more)

    def goal(self):
        return (self.folder / "goal").read_text().strip()

    def changes(self):
        """The calls that change something."""
        calls = (self.folder / "calls").read_text().splitlines()
        return [call.split()[0] for call in calls if not call.startswith("show")]
