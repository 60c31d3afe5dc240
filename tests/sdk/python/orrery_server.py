"""Starts the server under test as a child process and stops it again."""

import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass

# Both take milliseconds, unless the machine has more to do.
READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


@dataclass
class Server:
    process: subprocess.Popen
    ready: dict

    @property
    def endpoint(self):
        return self.ready["endpoint"]

    @property
    def key(self):
        return self.ready["key"]

    def stop(self):
        """Asks politely, as a service manager would."""
        self._end(self.process.terminate)

    def kill(self):
        """Ends the process without any chance to flush."""
        self._end(self.process.kill)

    def _end(self, how):
        if self.process.poll() is None:
            how()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError("the server did not stop when asked to")
        finally:
            self.process.stdout.close()


def start(*, data=None, tls="off", throughput="off", regions=(), options=None):
    """Starts a server in memory, or on the directory `data`; `options` are further flags."""
    command = [binary(), "serve", "--listen", "127.0.0.1:0", "--tls", tls, "--ready-json"]
    command += ["--throughput", throughput]
    command += ["--memory"] if data is None else ["--data", str(data)]
    for name in regions:
        command += ["--region", name]
    for name, value in (options or {}).items():
        flag = f"--{name.replace('_', '-')}"
        command += [flag] if value is True else [flag, str(value)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    line = _first_line(process)
    ready = json.loads(line)
    assert ready["ready"] is True
    return Server(process, ready)


def binary():
    path = os.environ.get("ORRERY_BIN")
    if not path:
        raise RuntimeError(
            "ORRERY_BIN must name the server binary; `cargo xtask test python` sets it"
        )
    return path


def _first_line(process):
    deadline = time.monotonic() + READY_SECONDS_MAX
    if os.name != "nt":
        readable, _, _ = select.select([process.stdout], [], [], READY_SECONDS_MAX)
        if not readable:
            process.send_signal(signal.SIGKILL)
            raise RuntimeError("the server did not become ready")
    line = process.stdout.readline()
    if not line or time.monotonic() > deadline:
        process.kill()
        raise RuntimeError(f"the server ended with {process.wait()} before it was ready")
    return line
