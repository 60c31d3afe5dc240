"""The content platform of the guides on both of its designs, with its own files: what each user sees
while a region is cut off or lost, and afterwards."""

import asyncio
import dataclasses
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import orrery_server
from conftest import asynchronous, unique
from expect import failure

EXAMPLE = Path(__file__).parents[3] / "examples" / "content-platform"
sys.path.insert(0, str(EXAMPLE))

import app  # noqa: E402
import content_platform as platform  # noqa: E402
import operate  # noqa: E402
from content_platform.connect import connect  # noqa: E402

SECONDS_MAX = 60
WEST, NORTH, ASIA = platform.THREE_ACCOUNTS.regions

DESIGNS = {
    **platform.LAYOUTS,
    "one-writer": dataclasses.replace(platform.ONE_ACCOUNT, multi_write=False),
}
# The last of them takes all writes in one region and cannot do without it.
EVERY_REGION_WRITES = ("two-accounts", "three-accounts", "one-account")


def need_multi_write():
    """Skips while the server says that it is not built, and for no other reason."""
    command = [orrery_server.binary(), "serve", "--memory", "--tls", "off", "--ready-json"]
    command += ["--listen", "127.0.0.1:0", "--multi-write", "--region", WEST, "--region", NORTH]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        is_ready = process.stdout.readline() != ""
        process.terminate()
        complaint = process.stderr.read()
    if not is_ready and "not built yet" in complaint:
        pytest.skip("the server does not take writes in several regions yet")


@pytest.fixture(scope="module")
def started():
    """Starts a design when it is first asked for."""
    with ExitStack() as running:
        made = {}

        def start(name):
            if name not in made:
                if DESIGNS[name].multi_write:
                    need_multi_write()
                design = platform.start(DESIGNS[name], orrery_server.binary())
                made[name] = running.enter_context(design)
                asyncio.run(platform.create_containers(made[name]))
            return made[name]

        yield start


@pytest.fixture
def deployment(request, started):
    found = started(request.param)
    yield found
    operators = platform.Operators(found)
    for region in regions_of(found):
        operators.up(region)
        operators.heal(region)


def on(*designs):
    return pytest.mark.parametrize("deployment", designs, indirect=True)


def regions_of(deployment):
    return list(deployment.accounts[0].endpoints)


@asynccontextmanager
async def applications(deployment, **options):
    """The data access of the application in each region."""
    async with AsyncExitStack() as opened:
        access = {}
        for region in regions_of(deployment):
            opening = platform.open_access(deployment, region, **options)
            access[region] = await opened.enter_async_context(opening)
        yield access


async def until(expected, read, *arguments):
    """Reads until what is expected has arrived."""
    deadline = time.monotonic() + SECONDS_MAX
    while (found := await read(*arguments)) != expected and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert found == expected


async def told(access, user):
    rows = await access.read_notification_feed(user)
    return sorted((row["articleId"], row["subscriptionFilter"]) for row in rows)


async def reviewed(access, article):
    return sorted(row["reviewText"] for row in await access.read_reviews(article))


async def followers(access, subscription_filter):
    return sorted(row["userId"] for row in await access.read_subscriptions(subscription_filter))


async def is_readable(access, article):
    return await access.read_article(article) is not None


@on(*DESIGNS)
@asynchronous
async def test_every_region_sees_what_all_regions_do(deployment):
    category = unique("category")
    async with applications(deployment) as access:
        readers = {region: unique("reader") for region in access}
        authors = {region: unique("author") for region in access}
        for region, user in readers.items():
            await access[region].create_subscription(user, category)
        await access[WEST].create_subscription(readers[WEST], authors[NORTH])
        for region in access:
            await until(sorted(readers.values()), followers, access[region], category)
        await until([readers[WEST]], followers, access[NORTH], authors[NORTH])

        articles = {}
        for region, author in authors.items():
            article = platform.article(author, category, f"from {region}", tags=["a", "b"])
            articles[region] = await access[region].publish_article(article)
        for region, user in readers.items():
            expected = [(article, category) for article in articles.values()]
            if region == WEST:
                expected.append((articles[NORTH], authors[NORTH]))
            for reader in access.values():
                await until(sorted(expected), told, reader, user)
            for article in articles.values():
                await access[region].write_review(article, user, region, 5)
        for reader in access.values():
            for region, article in articles.items():
                await until(sorted(access), reviewed, reader, article)
                found = await reader.read_article(article)
                assert (found["title"], found["author"]) == (f"from {region}", authors[region])
                assert (found["category"], found["tags"]) == (category, ["a", "b"])
            assert await reader.read_article(unique("nothing")) is None
            assert await told(reader, unique("nobody")) == []


@on(*EVERY_REGION_WRITES)
@asynchronous
async def test_a_region_that_is_cut_off_goes_on_with_what_it_has(deployment):
    operators = platform.Operators(deployment)
    category, user, late = unique("category"), unique("user"), unique("late")
    async with applications(deployment) as access:
        away = list(access)[-1]
        connected = [region for region in access if region != away]
        await access[away].create_subscription(user, category)
        for reader in access.values():
            await until([user], followers, reader, category)
        old = await access[WEST].publish_article(platform.article("a", category, "old"))
        await access[away].write_review(old, user, "before", 3)
        for reader in access.values():
            await until([(old, category)], told, reader, user)
            await until(["before"], reviewed, reader, old)
            await until(True, is_readable, reader, old)

        operators.cut(away)
        new = await access[WEST].publish_article(platform.article("a", category, "new"))
        remote = await access[away].publish_article(platform.article("b", category, "remote"))
        await access[away].create_subscription(late, category)
        await access[away].write_review(old, user, "inside", 4)
        await access[WEST].write_review(old, "b", "outside", 4)
        for region in connected:
            await until(sorted([(old, category), (new, category)]), told, access[region], user)
            await until(["before", "outside"], reviewed, access[region], old)
            await until(True, is_readable, access[region], new)
            assert await followers(access[region], category) == [user]
            assert not await is_readable(access[region], remote)
        assert await told(access[away], user) == sorted([(old, category), (remote, category)])
        assert await reviewed(access[away], old) == ["before", "inside"]
        assert await followers(access[away], category) == sorted([user, late])
        assert await is_readable(access[away], old)
        assert not await is_readable(access[away], new)

        operators.heal(away)
        everything = sorted((article, category) for article in (old, new, remote))
        for reader in access.values():
            await until(everything, told, reader, user)
            await until(["before", "inside", "outside"], reviewed, reader, old)
            await until(sorted([user, late]), followers, reader, category)
            for article in (old, new, remote):
                await until(True, is_readable, reader, article)

        # Whoever was not known when it was published is told when it is published again, others once.
        assert await told(access[WEST], late) == []
        await access[WEST].publish_article(platform.article("a", category, "new", id=new))
        for reader in access.values():
            await until([(new, category)], told, reader, late)
            assert await told(reader, user) == everything


@on("two-accounts")
@asynchronous
async def test_what_is_made_twice_has_two_homes(deployment):
    """And an application prefers its own."""
    article, category = unique("article"), unique("category")
    async with applications(deployment) as access:
        for region in access:
            await access[region].create_subscription("u", category)
            await access[region].publish_article(
                platform.article("a", category, region, id=article)
            )
        for region, reader in access.items():
            await until(["u", "u"], followers, reader, category)
            await until([(article, category)] * 2, told, reader, "u")
            assert (await reader.read_article(article))["title"] == region


@on("one-account")
@asynchronous
async def test_what_is_made_twice_in_one_account_is_one(deployment):
    """Also if the regions could not know of each other."""
    operators = platform.Operators(deployment)
    article, category = unique("article"), unique("category")
    async with applications(deployment) as access:
        operators.cut(NORTH)
        for region in access:
            await access[region].create_subscription("u", category)
            await access[region].publish_article(
                platform.article("a", category, region, id=article)
            )
            assert (await access[region].read_article(article))["title"] == region
        operators.heal(NORTH)
        marker = unique("marker")
        for region in access:
            await access[region].create_subscription(region, marker)
        for reader in access.values():
            await until(sorted(access), followers, reader, marker)
            await until(["u"], followers, reader, category)
            await until([(article, category)], told, reader, "u")
        winner = (await access[WEST].read_article(article))["title"]
        assert winner in access
        assert (await access[NORTH].read_article(article))["title"] == winner


@on(*EVERY_REGION_WRITES)
@asynchronous
async def test_nothing_leaves_the_region(deployment):
    """Neither while the regions hear of each other nor while they do not."""
    operators = platform.Operators(deployment)
    visited = []

    def note(response):
        url = urlsplit(response.http_request.url)
        if url.path.startswith("/dbs/"):
            visited.append((url.port, response.http_response.status_code))

    category, user = unique("category"), unique("user")
    ports = {urlsplit(account.endpoints[WEST]).port for account in deployment.accounts}
    for is_cut in (False, True):
        if is_cut:
            operators.cut(WEST)
        async with platform.open_access(deployment, WEST, raw_response_hook=note) as access:
            visited.clear()
            await access.create_subscription(user, category)
            article = await access.publish_article(platform.article("a", category, "t"))
            await access.write_review(article, user, "r", 1)
            assert await reviewed(access, article) == ["r"]
            assert (article, category) in await told(access, user)
            assert not await is_readable(access, "nothing")
        assert {port for port, _ in visited} == ports
        assert {status for _, status in visited} <= {200, 201, 304, 404}


@on("two-accounts", "one-account")
@asynchronous
async def test_users_of_a_lost_region_go_elsewhere(deployment):
    operators = platform.Operators(deployment)
    category, user = unique("category"), unique("user")
    async with applications(deployment) as access:
        await access[WEST].create_subscription(user, category)
        old = await access[WEST].publish_article(platform.article("a", category, "old"))
        await until([user], followers, access[NORTH], category)
        await until([(old, category)], told, access[NORTH], user)

        operators.down(WEST)
        new = await access[NORTH].publish_article(platform.article("a", category, "new"))
        both = sorted([(old, category), (new, category)])
        assert await told(access[NORTH], user) == both
        # An application that is still there reads in the other region.
        assert await told(access[WEST], user) == both
        assert await is_readable(access[WEST], new)

        operators.up(WEST)
        async with platform.open_access(deployment, WEST) as again:
            await until(both, told, again, user)
            await again.write_review(new, user, "back", 5)
        await until(["back"], reviewed, access[NORTH], new)


@asynchronous
async def test_writes_of_a_lost_region_need_another_write_region():
    with platform.start(platform.TWO_ACCOUNTS, orrery_server.binary()) as deployment:
        await platform.create_containers(deployment)
        operators = platform.Operators(deployment)
        async with platform.open_access(deployment, WEST) as access:
            await access.write_review("a", "u", "before", 1)
            async with platform.open_access(deployment, NORTH) as other:
                await until(["before"], reviewed, other, "a")
            operators.down(WEST)
            with failure(503):
                await access.write_review("a", "u", "refused", 1)
        operators.failover("usa", NORTH)
        assert operators.status("usa")["writeRegion"] == NORTH
        assert operators.status("europe")["writeRegion"] == NORTH
        async with platform.open_access(deployment, WEST) as access:
            await access.write_review("a", "u", "after", 1)
            assert await reviewed(access, "a") == ["after", "before"]


@on("two-accounts")
@asynchronous
async def test_a_union_appends_the_pages_of_each_turn(deployment):
    """The own account first; every account in the order of its own pages."""
    article = unique("article")
    counts = {WEST: 5, NORTH: 3}
    async with applications(deployment, page_size=2) as access:
        for region, count in counts.items():
            for n in range(count):
                await access[region].write_review(article, region, str(n), n)
        for reader in access.values():
            await until(8, count_of_reviews, reader, article)
        homes = [row["userId"] for row in await access[WEST].read_reviews(article)]
        assert homes == [WEST, WEST, NORTH, NORTH, WEST, WEST, NORTH, WEST]
        homes = [row["userId"] for row in await access[NORTH].read_reviews(article)]
        assert homes == [NORTH, NORTH, WEST, WEST, NORTH, WEST, WEST, WEST]


async def count_of_reviews(access, article):
    return len(await access.read_reviews(article))


@on("two-accounts")
@asynchronous
async def test_each_account_has_its_own_key(deployment):
    usa, europe = deployment.accounts
    with failure(401):
        async with connect(dataclasses.replace(usa, key=europe.key), WEST):
            pass


@on("two-accounts", "one-writer")
def test_the_home_of_a_region(deployment):
    homes = [deployment.home_of(region).name for region in (WEST, NORTH)]
    assert homes == [["world", "world"], ["usa", "europe"]][len(deployment.accounts) - 1]
    with pytest.raises(LookupError, match="there is no application in Southeast Asia"):
        deployment.home_of(ASIA)


async def rows(*values):
    for value in values:
        yield value


@asynchronous
async def test_the_pages_of_a_turn_are_asked_for_together():
    meeting = asyncio.Event()
    present = []

    async def pager(name, count):
        for n in range(count):
            if n == 0:
                present.append(name)
                if len(present) == 2:
                    meeting.set()
                await asyncio.wait_for(meeting.wait(), SECONDS_MAX)
            yield rows(f"{name}{n}")

    turns = [turn async for turn in platform.union([pager("a", 1), pager("b", 3)])]
    assert turns == [["a0", "b0"], ["b1"], ["b2"]]
    assert [turn async for turn in platform.union([])] == []


@asynchronous
async def test_a_union_is_whole_or_fails():
    async def broken():
        yield rows(1)
        raise ConnectionError("gone")

    async def whole():
        yield rows(2)

    seen = []
    with pytest.raises(ConnectionError):
        async for turn in platform.union([broken(), whole()]):
            seen.append(turn)
    assert seen == [[1, 2]]


def story(section, end):
    """The commands that the README shows, with their answers."""
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    steps = []
    for line in readme.split(f"<!-- {section} -->")[1].split(f"<!-- {end} -->")[0].splitlines():
        if line.startswith("    $ python "):
            steps.append((line.removeprefix("    $ python "), []))
        elif line.startswith("    "):
            steps[-1][1].append(line.strip())
    return steps


async def play(deployment, command):
    script, *words = shlex.split(command)
    if script == "operate.py":
        return [operate.operate(deployment, operate.parse(words))]
    return await app.answer(deployment, app.parse(words))


@pytest.mark.parametrize("design", ["two-accounts", "one-account"])
@asynchronous
async def test_the_walk_is_that_of_the_readme(design):
    steps = story("story", "end of story")
    if design == "one-account":
        need_multi_write()
        ((command, answer),) = story("one account", "end of one account")
        place = max(n for n, step in enumerate(steps) if step[0] == command)
        assert steps[place][1] != answer
        steps[place] = (command, answer)
    with platform.start(DESIGNS[design], orrery_server.binary()) as deployment:
        await platform.create_containers(deployment)
        for command, answer in steps:
            await until(answer, play, deployment, command)


def test_the_commands_work_as_the_readme_writes_them(tmp_path):
    file = tmp_path / "deployment.json"
    place = ["--deployment", str(file)]
    python = [sys.executable, "-W", "error"]
    environment = {**os.environ, "ORRERY_BIN": orrery_server.binary()}
    run = [*python, EXAMPLE / "run.py", "two-accounts", *place]

    def answer(script, *words):
        done = subprocess.run(
            [*python, EXAMPLE / script, *place, *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    with subprocess.Popen(run, stdout=subprocess.PIPE, env=environment, text=True) as running:
        try:
            lines = [running.stdout.readline().split("http")[0].split() for _ in range(5)]
            assert lines[:4] == [
                ["usa", "West", "US", "writes"],
                ["usa", "North", "Europe", "reads"],
                ["europe", "North", "Europe", "writes"],
                ["europe", "West", "US", "reads"],
            ]
            assert lines[4] == ["ready"]
            assert file.stat().st_mode & 0o077 == 0
            assert answer("app.py", WEST, "publish", "ada", "science", "Tides") == [
                "published tides"
            ]
            assert answer("operate.py", "down", NORTH) == ["North Europe is down"]
            assert answer("app.py", WEST, "read", "tides") == ["Tides, by ada"]
            endpoints = [
                endpoint
                for account in platform.Deployment.load(file).accounts
                for endpoint in account.endpoints.values()
            ]
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(SECONDS_MAX) == 0
    assert not file.exists()
    for endpoint in endpoints:
        with pytest.raises(OSError):
            socket.create_connection(
                (urlsplit(endpoint).hostname, urlsplit(endpoint).port), 1
            ).close()
