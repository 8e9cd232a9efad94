"""Plays the pause container of one pod: starts its containers, reaps what they leave behind, dies with its agent.

Two generations watch over every process, so that no single SIGKILL leaves a survivor:

    agent -> sandbox (one per pod) -> keeper (one per container) -> the container's processes

Each level holds a pipe to the one above; its end of file means "the one above is dead: kill everything and go". Sandbox
and keeper are child subreapers: a process that detaches itself becomes a child of its container's keeper, where it is
reaped when it ends and killed when the container's first process ends (as in a process namespace).

Orders, JSON lines on standard input:
    {"start": ID, "argv", "env", "cwd", "log", "mounts": null | {"as": "root" | "user", "at": FOLDER, "binds": [...]}}
    {"signal": ID, "number"}   to the first process of the container
    {"kill": ID}               SIGKILL to all its processes
Answers, JSON lines on standard output:
    {"id", "started": PID} | {"id", "failed": TEXT} and, after "started" and once every process of the container is
    gone, {"id", "code", "signal"}

"probe root|user FOLDER" instead tells by its exit status whether that way of mounting works here.
Standard library only; Linux only. One file of more than 400 lines: it runs isolated (python -I), where it would not find
modules beside it.
"""

import ctypes
import errno
import json
import os
import platform
import select
import signal
import stat
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 32, 4096, 16384
MS_UNBINDABLE, MS_PRIVATE, MS_RELATIME = 1 << 17, 1 << 18, 1 << 21
ST_RELATIME = 4096  # statvfs numbers this flag otherwise than mount does; the rest agree
KEPT_MOUNT_FLAGS = 2 | 4 | 8 | 1024 | 2048
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
LONGEST_LINE = 16 * 1024  # bytes; longer ones are logged in parts, as container runtimes do
KILL_POLL_S = 0.02

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def prctl(option, argument):
    check(libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), "prctl %d" % option)


def answer(message):
    try:
        os.write(1, (json.dumps(message) + "\n").encode())
    except OSError:
        pass  # The agent is dead; there is nobody to tell.


def listen_for_children():
    """A file descriptor that becomes readable when a child ends. Polite signals do nothing: orders come by pipe."""
    wakeup, wakeup_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.set_wakeup_fd(wakeup_in, warn_on_full_buffer=False)
    return wakeup


def descendants(root):
    """Every living process below `root`. Adopted ones are children, so walking parents finds them all."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # It ended between the listing and the reading.
        if fields[0] not in (b"Z", b"X"):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, unseen = [], [root]
    while unseen:
        below = children.get(unseen.pop(), [])
        found.extend(below)
        unseen.extend(below)
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass  # Gone already, which is what was wanted.


# ---------------------------------------------------------------------------------------------- the container's files


def mount(source, target, flags, kind=None, data=None):
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = libc.mount(arguments[0], arguments[1], arguments[2], ctypes.c_ulong(flags), arguments[3])
    check(result, "mount %s at %s" % (source, target))


def enter_namespaces(mode):
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if mode == "user" else 0)), "unshare")
    if mode == "user":
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
    mount("none", "/", MS_REC | MS_PRIVATE)


class Root:
    """A root folder that shows the host's files, in which further things can be mounted at any path.

    A path that the host does not have is made without touching the host: the deepest folder that exists is covered by
    a tmpfs that shows the same entries, and there the missing ones are made.
    """

    def __init__(self, at):
        self.at = at
        self.own = {at}
        mount("tmpfs", at, MS_NOSUID | MS_NODEV, "tmpfs", "mode=755")
        mount(None, at, MS_UNBINDABLE)  # Or mirroring the folder that holds `at` would mirror the mirror.
        self.mirror("/", at)

    def mirror(self, source, target):
        for entry in os.scandir(source):
            there = os.path.join(target, entry.name)
            try:
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.path), there)
                    continue
                self.touch(there, entry.is_dir())
                mount(entry.path, there, MS_BIND | MS_REC)
            except OSError:
                continue  # Not ours to see; then a container does not see it either.

    def touch(self, path, is_folder):
        if is_folder:
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))

    def cover(self, folder):
        if folder in self.own:
            return
        below = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        mode = stat.S_IMODE(os.fstat(below).st_mode)
        mount("tmpfs", folder, MS_NOSUID | MS_NODEV, "tmpfs", "mode=%o" % mode)
        self.mirror("/proc/self/fd/%d" % below, folder)
        os.close(below)
        self.own.add(folder)

    def make(self, path, is_folder):
        """The place for `path`, made if missing. Symbolic links are followed inside this root."""
        current, rest, links = self.at, [part for part in path.split("/") if part], 0
        while rest:
            part = rest.pop(0)
            if part == "..":
                current = self.at if current == self.at else os.path.dirname(current)
                continue
            there = os.path.join(current, part)
            if os.path.islink(there):
                links += 1
                if links > 40:
                    raise OSError(errno.ELOOP, "too many symbolic links in " + path)
                link = os.readlink(there)
                rest = [piece for piece in link.split("/") if piece not in ("", ".")] + rest
                current = self.at if link.startswith("/") else current
                continue
            if not os.path.lexists(there):
                self.cover(current)
                self.touch(there, bool(rest) or is_folder)
                if rest or is_folder:
                    self.own.add(there)
            current = there
        return current

    def place(self, bind):
        source = bind["source"]
        target = self.make(bind["target"], os.path.isdir(source))
        mount(source, target, MS_BIND | MS_REC)
        self.own.discard(target)
        if bind.get("readOnly"):
            seen = os.statvfs(target).f_flag
            kept = (seen & KEPT_MOUNT_FLAGS) | (MS_RELATIME if seen & ST_RELATIME else 0)
            mount(None, target, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)

    def lay_over(self, source, path="/"):
        """Shows the entries of `source` at `path`, above what is there. Folders that both have are merged."""
        for entry in os.scandir(source):
            there = os.path.join(path, entry.name)
            if entry.is_dir(follow_symlinks=False) and os.path.isdir(self.at + there):
                self.lay_over(entry.path, there)
            elif entry.is_symlink() and not os.path.lexists(self.at + there):
                parent = self.make(path, True)
                self.cover(parent)
                os.symlink(os.readlink(entry.path), os.path.join(parent, entry.name))
            else:
                self.place({"source": os.path.realpath(entry.path), "target": there})

    def enter(self):
        os.chdir(self.at)
        number = PIVOT_ROOT.get(platform.machine())
        if number is None or libc.syscall(number, b".", b".") != 0:
            os.chroot(".")  # The host runs from its initial RAM disk, whose root cannot be pivoted.
        else:
            check(libc.umount2(b".", MNT_DETACH), "umount of the host's root")
        os.chdir("/")


def enter_root(plan):
    enter_namespaces(plan["as"])
    root = Root(plan["at"])
    if plan.get("image"):
        root.lay_over(plan["image"])
    for bind in plan["binds"]:
        root.place(bind)
    root.enter()


def probe(mode, folder):
    target = os.path.join(folder, "probe")
    os.makedirs(target, exist_ok=True)
    enter_root({"as": mode, "at": target, "binds": [{"source": "/usr", "target": "/a/path/that/no/host/has", "readOnly": True}]})
    return 0 if os.path.isdir("/a/path/that/no/host/has/bin") else 1


# ------------------------------------------------------------------------------------------------------- one container


class Log:
    """One stream of a container, written line by line in the format of the container runtime interface."""

    def __init__(self, file, stream, source):
        self.file, self.stream, self.source = file, stream, source
        self.pending = b""

    def read(self):
        """False at the end of the stream."""
        data = os.read(self.source, 65536)
        *lines, self.pending = (self.pending + data).split(b"\n")
        entries = [(b"F", line) for line in lines]
        while len(self.pending) > LONGEST_LINE:
            entries.append((b"P", self.pending[:LONGEST_LINE]))
            self.pending = self.pending[LONGEST_LINE:]
        if not data and self.pending:
            entries.append((b"P", self.pending))  # The stream ended within a line: readers add no newline either.
            self.pending = b""
        if entries:
            self.write(entries)
        return bool(data)

    def write(self, entries):
        now = time.time_ns()
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9))
        prefix = ("%s.%09dZ %s " % (seconds, now % 10**9, self.stream)).encode()
        data = b"".join(prefix + tag + b" " + line + b"\n" for tag, line in entries)
        while data:
            data = data[os.write(self.file, data):]


def execute(spec, streams, failure_in):
    """In the forked child: becomes the container's first process, or tells why it cannot."""
    keeper = os.getppid()
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(streams[0], 1)
        os.dup2(streams[1], 2)
        if spec.get("mounts"):
            enter_root(spec["mounts"])
        try:
            os.chdir(spec["cwd"])
        except OSError as error:
            raise OSError(error.errno, "workingDir %s: %s" % (spec["cwd"], os.strerror(error.errno)))
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)
        try:
            os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
        except OSError as error:
            reason = "executable file not found in $PATH" if error.errno == errno.ENOENT else os.strerror(error.errno)
            raise OSError(error.errno, 'exec: "%s": %s' % (spec["argv"][0], reason))
    except BaseException as error:  # noqa: BLE001 - whatever went wrong must reach the agent
        os.write(failure_in, str(getattr(error, "strerror", None) or error).encode()[:2000])
    os._exit(127)


class Keeper:
    """Starts one container and stays until every process of it is gone."""

    def __init__(self, identity, spec, orders):
        self.identity, self.spec, self.orders = identity, spec, orders
        self.pid, self.status, self.killing = None, None, False
        self.pending = b""

    def run(self):
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        wakeup = listen_for_children()
        file = os.open(self.spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        out, out_in = os.pipe()
        err, err_in = os.pipe()
        failure = self.start((out_in, err_in))
        if failure:
            answer({"id": self.identity, "failed": failure})
            return
        answer({"id": self.identity, "started": self.pid})
        logs = {out: Log(file, "stdout", out), err: Log(file, "stderr", err)}
        self.watch(wakeup, logs)
        code = os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None
        ended_by = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None
        answer({"id": self.identity, "code": code, "signal": ended_by})

    def start(self, streams):
        failure_out, failure_in = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            execute(self.spec, streams, failure_in)
        for descriptor in (failure_in, *streams):
            os.close(descriptor)
        failure = os.read(failure_out, 4096).decode(errors="replace")  # Empty at exec: the pipe closes itself.
        os.close(failure_out)
        if failure:
            os.waitpid(self.pid, 0)
        return failure

    def watch(self, wakeup, logs):
        alive = True
        while alive or logs:
            sources = [wakeup, *logs] + ([self.orders] if self.orders is not None else [])
            ready, _, _ = select.select(sources, [], [], KILL_POLL_S if self.killing else None)
            if wakeup in ready:
                drain(wakeup)
            if self.orders is not None and self.orders in ready:
                self.read_orders()
            for source in [source for source in logs if source in ready]:
                if not logs[source].read():
                    del logs[source]
            alive = self.reap()
            if alive and self.killing:
                for pid in descendants(os.getpid()):
                    send(pid, signal.SIGKILL)
            if not alive and not ready:
                break  # Somebody outside the container holds its output open. Nobody inside can write any more.

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status
                self.killing = True  # A container ends with its first process.

    def read_orders(self):
        data = os.read(self.orders, 4096)
        if not data:
            self.orders = None
            self.killing = True
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            if line == b"kill":
                self.killing = True
            elif self.status is None:
                send(self.pid, int(line))


def drain(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


# ------------------------------------------------------------------------------------------------------------- the pod


class Sandbox:
    def __init__(self):
        self.pipes = {}  # id -> where its keeper reads orders
        self.keepers = {}  # process id -> id
        self.pending = b""
        self.open = True

    def run(self, wakeup):
        while self.reap() or self.open:
            sources = [wakeup, 0] if self.open else [wakeup]
            ready, _, _ = select.select(sources, [], [], None if self.open else KILL_POLL_S)
            if wakeup in ready:
                drain(wakeup)
            if 0 in ready:
                self.read_orders()
            if not self.open and not self.keepers:
                for pid in descendants(os.getpid()):
                    send(pid, signal.SIGKILL)  # Whatever escaped its keeper still ends with the pod.

    def reap(self):
        """Collects ended children. False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            identity = self.keepers.pop(pid, None)
            if identity is not None:
                self.keeper_ended(identity, status)

    def keeper_ended(self, identity, status):
        os.close(self.pipes.pop(identity))
        if status != 0:  # Killed from outside: what it kept has become ours.
            kept = {pid for keeper in self.keepers for pid in [keeper, *descendants(keeper)]}
            for pid in descendants(os.getpid()):
                if pid not in kept:
                    send(pid, signal.SIGKILL)
            answer({"id": identity, "code": None, "signal": int(signal.SIGKILL)})

    def read_orders(self):
        data = os.read(0, 65536)
        if not data:
            self.open = False
            for pipe in self.pipes.values():
                os.close(pipe)
            self.pipes = {identity: os.open(os.devnull, os.O_RDONLY) for identity in self.pipes}
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.obey(json.loads(line))

    def obey(self, order):
        if "start" in order:
            self.start(order["start"], order)
            return
        identity = order.get("signal") or order.get("kill")
        if identity in self.pipes:
            text = "kill\n" if "kill" in order else "%d\n" % order["number"]
            try:
                os.write(self.pipes[identity], text.encode())
            except BrokenPipeError:
                pass  # It has just ended.

    def start(self, identity, spec):
        orders, orders_in = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                for descriptor in [0, orders_in, *self.pipes.values()]:
                    os.close(descriptor)  # A copy kept here would hide the sandbox's death from its other keepers.
                os.open(os.devnull, os.O_RDONLY)
                Keeper(identity, spec, orders).run()
                status = 0
            finally:
                os._exit(status)
        os.close(orders)
        self.pipes[identity] = orders_in
        self.keepers[pid] = identity


def main():
    if sys.argv[1:2] == ["probe"]:
        sys.exit(probe(sys.argv[2], sys.argv[3]))
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup = listen_for_children()
    answer({"ready": os.getpid()})
    Sandbox().run(wakeup)


if __name__ == "__main__":
    main()
