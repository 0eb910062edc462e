"""The endpoints of an app."""

import asyncio

import msgspec
import pytest
from tests.webhooks.world import SETTINGS, World

from tenure.errors import BadArgument, EndpointExists, SecretUnreadable, UnknownEndpoint
from tenure.message import MessageState
from tenure.webhooks.assembly import Webhooks
from tenure.webhooks.endpoints import FRESH_SECONDS, KIND, findings
from tenure.webhooks.signature import key_of

URL = "https://orders.example.com/hook"


async def test_an_endpoint_is_added_listed_and_removed(world: World) -> None:
    endpoints = world.hooks.endpoints
    made = await endpoints.add("orders", URL, clients=["acme", "acme"], hosts=["A.example.com."], by="alice")
    assert made.secret is not None
    assert key_of(made.secret)
    assert [one.name for one in await endpoints.list()] == ["orders"]
    found = await endpoints.get("orders")
    assert (found.url, found.clients, found.hosts, found.created_by) == (URL, ("acme",), ("a.example.com",), "alice")
    await endpoints.remove("orders")
    assert await endpoints.list() == []
    with pytest.raises(UnknownEndpoint, match="there is none"):
        await endpoints.remove("orders")


async def test_the_secret_is_in_no_document_of_the_store(world: World) -> None:
    made = await world.hooks.endpoints.add("orders", URL)
    value = await world.state.key_values.get(KIND, "orders")
    assert value is not None
    assert made.secret is not None
    assert made.secret.encode() not in value.data
    assert made.secret[10:30].encode() not in value.data


async def test_an_endpoint_is_not_added_twice(world: World) -> None:
    made = await world.hooks.endpoints.add("orders", URL)
    with pytest.raises(EndpointExists):
        await world.hooks.endpoints.add("orders", URL)
    assert await world.hooks.endpoints.get("orders") == made.endpoint


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "Orders"}, "cannot name"),
        ({"name": "a b"}, "cannot name"),
        ({"name": "a:b"}, "cannot name"),
        ({"name": ""}, "cannot name"),
        ({"name": "-a"}, "cannot name"),
        ({"url": "http://orders.example.com/"}, "https"),
        ({"url": "https://10.0.0.1/"}, "public"),
        ({"url": "https://localhost:8383/"}, "own API"),
        ({"clients": ["Acme!"]}, "clients"),
        ({"hosts": ["https://a.example.com"]}, "hosts"),
        ({"events": []}, "events"),
        ({"events": ["ready"]}, "events"),
        ({"events": ["nothing"]}, "events"),
    ],
)
async def test_what_cannot_work_is_refused(world: World, options: dict[str, str], reason: str) -> None:
    with pytest.raises(BadArgument, match=reason):
        await world.hooks.endpoints.add(**{"name": "orders", "url": URL, **options})  # type: ignore[arg-type]
    assert await world.hooks.endpoints.list() == []


async def test_without_a_key_an_endpoint_needs_a_reference(world: World) -> None:
    hooks = Webhooks(world.broker, world.state, world.clock, msgspec.structs.replace(SETTINGS, secret_key=None))
    with pytest.raises(SecretUnreadable):
        await hooks.endpoints.add("orders", URL)
    made = await hooks.endpoints.add("orders", URL, secret="env:HOOK")
    assert made.secret is None
    assert made.endpoint.secret == "env:HOOK"


async def test_a_change_changes_what_is_given(world: World) -> None:
    endpoints = world.hooks.endpoints
    await endpoints.add("orders", URL, clients=["acme"])
    changed = await endpoints.change("orders", events=[MessageState.DEAD], url="https://b.example.com/")
    assert (changed.url, changed.clients, changed.events) == ("https://b.example.com/", ("acme",), (MessageState.DEAD,))
    with pytest.raises(BadArgument):
        await endpoints.change("orders", url="https://10.0.0.1/")
    assert await endpoints.get("orders") == changed


async def test_a_rotation_keeps_the_secret_before_for_its_time(world: World) -> None:
    endpoints, wall = world.hooks.endpoints, world.state.wall()
    first = (await endpoints.add("orders", URL)).endpoint
    second = (await endpoints.rotate("orders", overlap_seconds=60)).endpoint
    assert second.secrets_at(wall) == (second.secret, first.secret)
    assert second.secrets_at(wall + 61) == (second.secret,)
    third = (await endpoints.rotate("orders", overlap_seconds=0)).endpoint
    assert third.secrets_at(wall) == (third.secret,)
    for seconds in (-1, 1e9, float("nan")):
        with pytest.raises(BadArgument):
            await endpoints.rotate("orders", overlap_seconds=seconds)
    with pytest.raises(UnknownEndpoint, match="did you mean orders"):
        await endpoints.rotate("order")


async def test_disable_and_enable_say_whether_they_changed_anything(world: World) -> None:
    endpoints = world.hooks.endpoints
    await endpoints.add("orders", URL)
    assert await endpoints.disable("orders", "maintenance", by="alice")
    assert not await endpoints.disable("orders", "again", by="bob")
    disabled = (await endpoints.get("orders")).disabled
    assert disabled is not None
    assert (disabled.reason, disabled.by) == ("maintenance", "alice")
    assert findings(await endpoints.list()) == []  # an operator knows
    assert await endpoints.enable("orders")
    assert not await endpoints.enable("orders")


async def test_changes_at_the_same_moment_all_take_effect(world: World) -> None:
    endpoints = world.hooks.endpoints
    await endpoints.add("orders", URL)
    await asyncio.gather(
        endpoints.change("orders", clients=["acme"]),
        endpoints.change("orders", hosts=["a.example.com"]),
        endpoints.disable("orders", "maintenance"),
    )
    found = await endpoints.get("orders")
    assert found.clients == ("acme",)
    assert found.hosts == ("a.example.com",)
    assert found.disabled is not None


async def test_apps_of_different_namespaces_share_no_endpoints(world: World) -> None:
    mine = Webhooks(world.broker, world.state, world.clock, SETTINGS, namespace="mine")
    await mine.endpoints.add("orders", URL)
    assert await world.hooks.endpoints.list() == []
    assert await world.hooks.endpoints.find("orders") is None
    assert [one.name for one in await mine.endpoints.list()] == ["orders"]


async def test_a_reader_follows_a_change_within_five_seconds(world: World) -> None:
    reader = world.hooks.reader
    assert await reader.all() == {}
    other = Webhooks(world.broker, world.state, world.clock, SETTINGS)
    await other.endpoints.add("orders", URL)
    assert await reader.all() == {}
    assert await reader.find("orders") is not None  # a new name is looked up at once
    await asyncio.sleep(FRESH_SECONDS)
    assert list(await reader.all()) == ["orders"]
    assert FRESH_SECONDS < 5


async def test_what_a_newer_tenure_wrote_is_left_alone(world: World) -> None:
    await world.state.key_values.put(KIND, "new", b'{"v":9}', expect=None)
    assert await world.hooks.endpoints.list() == []
