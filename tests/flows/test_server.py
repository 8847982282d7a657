"""The private Prefect server, with real processes.

Who starts, joins, leaves and reaps is tried with a stand-in that is up in a moment; Prefect itself starts three times.
"""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from flows import server
from metrics.errors import ServerFailed

STAND_IN = """
import http.server, socketserver, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"0")
    do_POST = do_GET

socketserver.TCPServer.allow_reuse_address = True
try:
    listening = socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Answer)
except OSError:
    sys.exit(f"Port {sys.argv[1]} is already in use.")
listening.serve_forever()
"""

# A process that uses the server of a directory until its standard input ends.
USER = """
import json, os, sys, time
from pathlib import Path
from flows import server

home, what, stand_in = sys.argv[1:]
if stand_in:
    server._command = lambda port: [sys.executable, "-c", stand_in, str(port)]

def report(here):
    print(json.dumps({"url": here.url, "ui": here.ui, "started": here.started}), flush=True)

if what == "keep":
    server.keep_running(report, Path(home))
    sys.exit()
if what == "flow":
    from prefect import flow, task
    from prefect.artifacts import create_markdown_artifact
    from prefect.settings import PREFECT_API_URL

    @task
    def double(number):
        return 2 * number

    @flow
    def doubles():
        create_markdown_artifact("# Card", key="card")
        return sum(each.result() for each in [double.submit(number) for number in range(100)])

with server.private_server(Path(home)) as here:
    report(here)
    if what == "fork" and os.fork() == 0:
        time.sleep(600)
    if what == "flow":
        assert PREFECT_API_URL.value() == here.url
        assert doubles() == 9900
    sys.stdin.read()
"""


class User:
    """A process of its own that uses the server of `home`."""

    def __init__(self, home, what="stay", stand_in=STAND_IN):
        command = [sys.executable, "-c", USER, str(home), what, stand_in]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def hello(self):
        """Waits until the server answers; its address, and who started it."""
        line = self.process.stdout.readline()
        assert line, "the user ended before its server answered"
        return json.loads(line)

    def leave(self):
        self.process.stdin.close()
        return self.process.wait(timeout=120)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=120)


@contextmanager
def cast():
    """A function that makes users; whatever becomes of the test, nothing of them stays."""
    users, homes = [], set()

    def enter(home, *arguments):
        homes.add(home)
        users.append(User(home, *arguments))
        return users[-1]

    try:
        yield enter
    finally:
        for user in users:
            if user.process.poll() is None:
                os.killpg(user.process.pid, signal.SIGKILL)
            user.process.wait()
            user.process.stdin.close()
            user.process.stdout.close()
        for home in homes:
            server._reap(home.resolve())


@pytest.fixture
def user():
    with cast() as enter:
        yield enter


@pytest.fixture(autouse=True)
def no_other_server(monkeypatch):
    for name in [each for each in os.environ if each.startswith("PREFECT_") or each == "FIRECARD_HOME"]:
        monkeypatch.delenv(name)


@pytest.fixture
def stand_in(monkeypatch):
    """Servers of this process are stand-ins too."""
    monkeypatch.setattr(server, "_command", lambda port: [sys.executable, "-c", STAND_IN, str(port)])


@pytest.fixture
def stranger():
    """A server that is none of ours, and its port."""
    port = server._free_port()
    process = subprocess.Popen([sys.executable, "-c", STAND_IN, str(port)], stderr=subprocess.DEVNULL)
    wait_until(lambda: server._answers(f"http://127.0.0.1:{port}/api"))
    yield port, process
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real server that another process holds: its directory and addresses."""
    home = tmp_path_factory.mktemp("real") / "home"
    with pytest.MonkeyPatch.context() as patch, cast() as enter:
        patch.delenv("PREFECT_API_URL", raising=False)
        owner = enter(home, "stay", "")
        yield home, owner.hello()
        assert owner.leave() == 0


def wait_until(holds):
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def record(home):
    return json.loads((home / "server.json").read_text())


def running(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def fetch(address, **headers):
    with server._DIRECT.open(urllib.request.Request(address, headers=headers), timeout=60) as answer:
        return answer.headers, answer.read()


# Prefect itself


def test_real_server_answers_programs_and_people(real):
    _, here = real
    assert here["started"]
    assert here["url"] == f"{here['ui']}/api"
    assert fetch(f"{here['url']}/health")[1] == b"true"
    assert b"<html" in fetch(here["ui"], Accept="text/html")[1]
    assert json.loads(fetch(f"{here['ui']}/ui-settings")[1])["api_url"] == here["url"]


def test_real_server_listens_on_loopback_only(real):
    home, _ = real
    process = psutil.Process(record(home)["pid"])
    sockets = [each for one in (process, *process.children(recursive=True)) for each in one.net_connections("inet")]
    listening = [each.laddr for each in sockets if each.status == psutil.CONN_LISTEN or each.type == socket.SOCK_DGRAM]
    assert [(each.ip, each.port) for each in listening] == [("127.0.0.1", record(home)["port"])]


def test_real_server_lets_no_other_site_read(real):
    headers, _ = fetch(f"{real[1]['url']}/health", Origin="http://elsewhere.example")
    assert "access-control-allow-origin" not in headers


def test_flow_of_another_process_joins_the_real_server(real, user):
    home, here = real
    guest = user(home, "flow", "")
    assert guest.hello() == {**here, "started": False}
    assert guest.leave() == 0
    artifact = json.loads(fetch(f"{here['url']}/artifacts/card/latest")[1])
    assert artifact["data"] == "# Card"


def test_killed_owner_is_followed_by_a_run_that_loses_no_record(tmp_path, user):
    killed = user(tmp_path, "stay", "")
    killed.hello()
    orphan = record(tmp_path)["pid"]
    killed.end(signal.SIGKILL)
    assert running(orphan)

    following = user(tmp_path, "flow", "")
    assert following.hello()["started"]
    assert not running(orphan)
    own = record(tmp_path)["pid"]
    assert following.leave() == 0
    assert not running(own)
    with closing(sqlite3.connect(tmp_path / "prefect" / "prefect.db")) as database:
        states = database.execute("select state_type, count(*) from task_run group by 1").fetchall()
        cards = database.execute("select key from artifact").fetchall()
        last_words = database.execute("select message from log where task_run_id is null order by timestamp").fetchall()
    assert (states, cards) == ([("COMPLETED", 100)], [("card",)])
    assert last_words[-1] == ("Finished in state Completed()",)


# Who starts, joins and stops


def test_last_one_out_stops_the_server(tmp_path, user):
    first = user(tmp_path)
    assert first.hello()["started"]
    second = user(tmp_path)
    assert not second.hello()["started"]
    pid = record(tmp_path)["pid"]
    assert os.getsid(pid) == pid
    assert first.leave() == 0  # the one that started it need not be the last
    assert running(pid)
    assert second.leave() == 0
    assert not running(pid)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["lock", "prefect", "server.log", "users"]
    assert not any((tmp_path / "users").iterdir())


def test_server_is_stopped_though_its_starter_lives_on(tmp_path, user, stand_in):
    with server.private_server(tmp_path):
        guest = user(tmp_path)
        assert not guest.hello()["started"]
        pid = record(tmp_path)["pid"]
    assert guest.leave() == 0
    wait_until(lambda: not psutil.pid_exists(pid))  # not even a zombie of ours


def test_processes_that_start_together_share_one_server(tmp_path, user):
    users = [user(tmp_path) for _ in range(4)]
    hellos = [each.hello() for each in users]
    assert sorted(each["started"] for each in hellos) == [False, False, False, True]
    assert len({each["url"] for each in hellos}) == 1
    pid = record(tmp_path)["pid"]
    assert [each.leave() for each in users] == [0, 0, 0, 0]
    assert not running(pid)


@pytest.mark.parametrize("lost", [False, True], ids=["with its pid file", "without its pid file"])
def test_orphan_is_reaped(tmp_path, user, stand_in, lost):
    killed = user(tmp_path)
    killed.hello()
    orphan = record(tmp_path)["pid"]
    killed.end(signal.SIGKILL)
    if lost:
        (tmp_path / "server.json").unlink()
    with server.private_server(tmp_path) as here:
        assert here.started
        assert not running(orphan)


def test_fork_of_a_killed_user_does_not_count(tmp_path, user, stand_in):
    killed = user(tmp_path, "fork")
    killed.hello()
    parent = psutil.Process(killed.process.pid)
    wait_until(lambda: len(parent.children()) == 2)
    (fork,) = [each for each in parent.children() if each.pid != record(tmp_path)["pid"]]
    killed.end(signal.SIGKILL)
    try:
        assert fork.is_running()
        with server.private_server(tmp_path) as here:
            assert here.started
    finally:
        fork.kill()


def test_stuck_server_is_replaced_for_all(tmp_path, user, stand_in, monkeypatch):
    monkeypatch.setattr(server, "STOP", 1)
    monkeypatch.setattr(server, "SILENCE", 1)
    other = user(tmp_path)
    other.hello()
    stuck = record(tmp_path)
    os.kill(stuck["pid"], signal.SIGSTOP)
    # As if it had been started long ago, or the clock had been set since.
    (tmp_path / "server.json").write_text(json.dumps({**stuck, "started": stuck["started"] - 1000}))
    with server.private_server(tmp_path) as here:
        assert here.started
        assert not running(stuck["pid"])
        replacement = record(tmp_path)["pid"]
    assert running(replacement)
    assert other.leave() == 0
    assert not running(replacement)


def test_recycled_pid_is_left_alone(tmp_path, stranger, stand_in):
    port, process = stranger
    stale = {"pid": process.pid, "started": time.time() - 86400, "port": port, "host": socket.gethostname(), "owner": 1}
    (tmp_path / "server.json").write_text(json.dumps(stale))
    with server.private_server(tmp_path) as here:
        assert here.started
        assert here.ui != f"http://127.0.0.1:{port}"
    assert process.poll() is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pid": -1, "started": 0, "port": 1, "host": "", "owner": 1}'])
def test_broken_pid_file_is_no_obstacle(tmp_path, stand_in, text):
    (tmp_path / "server.json").write_text(text)
    with server.private_server(tmp_path) as here:
        assert here.started


def test_taken_port_is_left_to_its_owner(tmp_path, stranger, stand_in, monkeypatch):
    taken, _ = stranger  # it even answers where our server should
    ports = iter([taken, server._free_port()])
    monkeypatch.setattr(server, "_free_port", lambda: next(ports))
    with server.private_server(tmp_path) as here:
        assert here.ui != f"http://127.0.0.1:{taken}"
        assert os.environ["PREFECT_API_URL"] == here.url


def test_server_that_cannot_start_says_why(tmp_path, monkeypatch):
    last_words = "import sys; print('the disk', 'is full', sep=' of the desk '); sys.exit(1)"
    monkeypatch.setattr(server, "_command", lambda port: [sys.executable, "-c", last_words])
    with pytest.raises(ServerFailed, match="the disk of the desk is full"), server.private_server(tmp_path):
        pass
    assert not any((tmp_path / "users").iterdir())


def test_server_of_another_machine_is_not_touched(tmp_path, user):
    user(tmp_path).hello()
    away = {**record(tmp_path), "host": "another-machine"}
    (tmp_path / "server.json").write_text(json.dumps(away))
    with pytest.raises(ServerFailed, match="another-machine"), server.private_server(tmp_path):
        pass
    assert running(away["pid"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_keep_running_leaves_in_order(tmp_path, user, number):
    keeper = user(tmp_path, "keep")
    assert keeper.hello()["started"]
    pid = record(tmp_path)["pid"]
    assert keeper.end(number) == 0
    assert not running(pid)


def test_keep_running_tells_when_the_server_ends(tmp_path, stand_in):
    def report(here):
        os.kill(record(tmp_path)["pid"], signal.SIGKILL)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ServerFailed, match="ended by itself"):
        server.keep_running(report, tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


# The directory, and the environment


def test_launch_points_prefect_to_the_server_until_leave(tmp_path, stand_in):
    before = dict(os.environ)
    here = server.Server(tmp_path)
    try:
        here.launch()
        assert os.environ["PREFECT_API_URL"] == here.url
        assert os.environ["PREFECT_HOME"] == str(tmp_path.resolve() / "prefect")
        here.wait()
        with server.private_server(tmp_path) as again:  # a run within a run uses what is there
            assert (again.url, again.started) == (here.url, False)
    finally:
        here.leave()
    assert dict(os.environ) == before


def test_given_server_is_used_as_it_is(tmp_path, stranger, monkeypatch):
    port, process = stranger
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{port}/api")
    with server.private_server(tmp_path / "home") as here:
        assert (here.url, here.ui) == (f"http://127.0.0.1:{port}/api", f"http://127.0.0.1:{port}")
        assert not here.started
    assert process.poll() is None
    assert os.environ["PREFECT_API_URL"] == here.url
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("address", ["http://127.0.0.1:{}/api", "127.0.0.1:{}", "gopher:{}"])
def test_given_server_that_does_not_answer_is_refused(tmp_path, monkeypatch, address):
    given = address.format(server._free_port())
    monkeypatch.setenv("PREFECT_API_URL", given)
    with pytest.raises(ServerFailed, match=given), server.private_server(tmp_path):
        pass


def test_settings_of_other_servers_do_not_reach_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_KEY", "secret")
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql://elsewhere")
    given = server._environment(tmp_path, 1)
    assert "PREFECT_API_URL" not in given
    assert "PREFECT_API_KEY" not in given
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL" not in given
    assert (given["DO_NOT_TRACK"], given["PREFECT_SERVER_ANALYTICS_ENABLED"]) == ("1", "false")


def test_directory_is_for_its_owner_only(tmp_path, stand_in):
    home = tmp_path / "new" / "home"
    opened = tmp_path / "opened"
    opened.mkdir(mode=0o755)
    for each in (home, opened):
        with server.private_server(each):
            assert each.stat().st_mode & 0o777 == 0o700


def test_directory_of_others_is_refused_and_not_changed(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ServerFailed, match="other files"), server.private_server(tmp_path):
        pass
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ServerFailed, match="file/home"), server.private_server(tmp_path / "file" / "home"):
        pass


HOMES = [
    pytest.param({"FIRECARD_HOME": "/f", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/f", id="its own variable"),
    pytest.param({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/firecard", id="the state directory"),
    pytest.param({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/firecard", id="the default"),
]


@pytest.mark.parametrize(("variables", "expected"), HOMES)
def test_state_home(monkeypatch, variables, expected):
    for name in ("FIRECARD_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert server.state_home() == Path(expected)


def test_import_is_light():
    heavy = (
        "import sys, flows.server; print({'prefect', 'httpx', 'numpy', 'dask', 'xarray', 'pandas'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout.strip() == "set()"
