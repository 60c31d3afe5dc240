"""Makes the fixtures of one version: `write.py PROGRAM VERSION`. README.md says more."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import archive
import regions
from account import Account
from contents import Contents
from recorder import Recorder

HERE = Path(__file__).parent
TWO = [f"--region={regions.WEST}", f"--region={regions.NORTH}"]
BOTH_WRITE = [*TWO, "--multi-write"]


def stopped(program, data):
    """A directory that its server left in order."""
    account = Account(program, data)
    contents, to = Contents(), Recorder(account)
    contents.fill(to)
    contents.change(to)
    contents.note(to)
    account.stop()
    return [], [to]


def killed(program, data):
    """A directory as a failure of power leaves it: the log is whole, the state is what was synced before."""
    account = Account(program, data)
    contents = Contents()
    contents.fill(Recorder(account))
    account.stop()
    shutil.copytree(data / "state", data.with_name("synced"))
    account = Account(program, data)
    to = Recorder(account)
    contents.change(to)
    contents.note(to)
    account.kill()
    shutil.rmtree(data / "state")
    data.with_name("synced").rename(data / "state")
    return [], [to]


def one_writer(program, data):
    """Two regions that were killed."""
    return _in_two_regions(program, data, TWO, regions.fill_one_writer, regions.note_one_writer)


def every_writer(program, data):
    """Two regions that both took writes, and were killed."""
    return _in_two_regions(program, data, BOTH_WRITE, regions.fill_every_writer, regions.note_every_writer)


def _in_two_regions(program, data, arguments, fill, note):
    account = Account(program, data, arguments)
    fill(account, *_recorders(account))
    account.stop()
    account = Account(program, data, arguments)
    recorders = _recorders(account)
    note(account, *recorders)
    account.kill()
    return arguments, recorders


def _recorders(account):
    return [Recorder(account, name) for name in (regions.WEST, regions.NORTH)]


KINDS = {"stopped": stopped, "killed": killed, "regions": one_writer, "multi-write": every_writer}


def write(program, version, kind):
    with tempfile.TemporaryDirectory() as root:
        data = Path(root) / "data"
        arguments, recorders = KINDS[kind](program, data)
        expected = {"arguments": arguments, "reads": [], "writes": [], "later": []}
        for noted in (recorder.noted() for recorder in recorders):
            for name, rows in noted.items():
                expected[name] += rows
        text = json.dumps(expected, ensure_ascii=False, indent=1).encode()
        files = [("expected.json", text), *archive.of_directory(data, "data")]
        packed = archive.packed(files)
        assert archive.unpacked(packed) == files
    place = HERE / version / f"{kind}.fixture"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(packed)
    print(f"{place.relative_to(HERE)}: {len(packed)} bytes, {len(expected['reads'])} reads")


if __name__ == "__main__":
    program, version, *kinds = sys.argv[1:]
    for kind in kinds or KINDS:
        write(program, version, kind)
