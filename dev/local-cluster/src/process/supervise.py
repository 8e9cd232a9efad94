"""Runs one program and guarantees that it, and everything it ever started, is gone when its owner is.

The owner (processes.ts) holds the other end of this process's standard input. Orders arrive there as lines, and its
end of file means that the owner is dead, however it died. As a child subreaper this process adopts every descendant
that detaches itself, so that double-forked daemons are found, ended and reaped too.

Orders:   "signal N" to the program; "stop MS": its stop signal, and SIGKILL to the whole tree after MS milliseconds.
Answers:  one JSON object per line: {"pid"}, {"error"} when it cannot be started, {"exit": {"code", "signal"}}.
Standard library only; Linux only.
"""

import ctypes
import json
import os
import pwd
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
KILL_POLL_S = 0.02

libc = ctypes.CDLL(None, use_errno=True)


def prctl(option, argument):
    if libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d" % option)


def become(user):
    """Drops root for `user`, with every right that comes with it."""
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def start(spec):
    """Starts the program in a session of its own. Returns (pid, None) or (None, why not)."""
    supervisor = os.getpid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    log = os.open(spec["log"], flags, 0o600) if spec.get("log") else os.dup(2)
    failure_out, failure_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(name, signal.SIG_DFL)
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if spec.get("user"):
                become(spec["user"])
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # Even SIGKILL of this supervisor takes the program along.
            if os.getppid() != supervisor:
                os._exit(1)
            if spec.get("cwd"):
                os.chdir(spec["cwd"])
            os.execvp(spec["command"], [spec["command"], *spec["args"]])
        except BaseException as error:  # noqa: BLE001 - whatever went wrong must reach the owner
            os.write(failure_in, str(error).encode())
        os._exit(127)
    os.close(failure_in)
    os.close(log)
    failure = os.read(failure_out, 4096).decode()  # Empty at exec: the pipe closes itself.
    os.close(failure_out)
    if failure:
        os.waitpid(pid, 0)
        return None, failure
    return pid, None


def descendants():
    """Every living process below this one. Adopted ones are children, so walking parents finds them all."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue  # It ended between the listing and the reading.
        if fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, unseen = [], [os.getpid()]
    while unseen:
        below = children.get(unseen.pop(), [])
        found.extend(below)
        unseen.extend(below)
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass  # Gone already, which is what was wanted; or not ours to signal.


class Supervisor:
    def __init__(self, spec, pid):
        self.stop_signal = spec["stopSignal"]
        self.orphan_grace_s = spec["orphanGraceMs"] / 1000
        self.leftover_grace_s = spec["leftoverGraceMs"] / 1000
        self.pid = pid
        self.running = True
        self.orphaned = False
        self.kill_at = None
        self.pending = b""

    def run(self, wakeup):
        while self.reap():
            self.kill_when_due()
            inputs = [wakeup] if self.orphaned else [wakeup, 0]
            ready, _, _ = select.select(inputs, [], [], self.patience())
            if wakeup in ready:
                if any(number != signal.SIGCHLD for number in os.read(wakeup, 4096)):
                    self.take_down()
            if 0 in ready:
                self.read_orders()

    def patience(self):
        if self.kill_at is None:
            return None
        return max(self.kill_at - time.monotonic(), KILL_POLL_S)

    def reap(self):
        """Collects every ended child. False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.program_ended(status)

    def program_ended(self, status):
        self.running = False
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        answer({"exit": {"code": code, "signal": ended_by}})
        for pid in descendants():
            send(pid, signal.SIGTERM)
        self.kill_by(self.leftover_grace_s)

    def read_orders(self):
        data = os.read(0, 4096)
        if not data:
            self.take_down()
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            order, argument = line.split()
            if order == b"signal" and self.running:
                send(self.pid, int(argument))
            elif order == b"stop":
                if self.running and int(argument) > 0:
                    send(self.pid, self.stop_signal)
                self.kill_by(int(argument) / 1000)

    def take_down(self):
        """The owner is gone: everything ends, politely first."""
        self.orphaned = True
        for pid in descendants():
            send(pid, self.stop_signal if pid == self.pid else signal.SIGTERM)
        self.kill_by(self.orphan_grace_s)

    def kill_by(self, grace_s):
        due = time.monotonic() + grace_s
        self.kill_at = due if self.kill_at is None else min(self.kill_at, due)

    def kill_when_due(self):
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            for pid in descendants():
                send(pid, signal.SIGKILL)


def answer(message):
    try:
        os.write(1, (json.dumps(message) + "\n").encode())
    except OSError:
        pass  # The owner is dead; there is nobody to tell.


def main():
    spec = json.loads(sys.argv[1])
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup, wakeup_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wakeup_in, warn_on_full_buffer=False)
    try:
        pid, failure = start(spec)
    except OSError as error:
        pid, failure = None, str(error)
    if pid is None:
        answer({"error": failure})
        return
    answer({"pid": pid})
    Supervisor(spec, pid).run(wakeup)


if __name__ == "__main__":
    main()
