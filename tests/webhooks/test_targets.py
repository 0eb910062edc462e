"""What a message may ask for, and under which name its receiver is found."""

import pytest
from tests.webhooks.world import World

from tenure.errors import WebhookRefused
from tenure.webhooks.targets import WebhookTarget, target_of

URL = "https://orders.example.com/hook"


@pytest.mark.parametrize(
    "target",
    [
        WebhookTarget("orders"),
        WebhookTarget("orders", "https://a.example.com/b"),
        WebhookTarget(None, "https://a.example.com/b"),
        WebhookTarget("orders", task_id="a b/ü"),
        WebhookTarget(
            "orders", "https://a.example.com/b", "7", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        ),
        WebhookTarget(None, "https://a.example.com/b", trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        WebhookTarget(None, "https://a.example.com/b?task_id=9", task_id="7"),
    ],
)
def test_a_target_is_read_as_it_was_written(target: WebhookTarget) -> None:
    assert target_of(target.text) == target


@pytest.mark.parametrize("text", ["", "webhook:", "group:a", "webhook:a b c", "webhook: a", "webhook:task_id=3"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a webhook"):
        target_of(text)


async def test_a_name_a_url_and_an_allowed_host_are_resolved(world: World) -> None:
    hooks = world.hooks
    await hooks.endpoints.add("orders", URL, clients=["acme", "b-*"], hosts=["a.example.com"])
    assert await hooks.target("orders", "acme") == "webhook:orders"
    assert await hooks.target(URL, "b-7") == "webhook:orders"
    assert await hooks.target("https://a.example.com/x", "acme") == "webhook:orders https://a.example.com/x"
    assert await hooks.target("orders", "acme", task_id="7") == "webhook:orders task_id=7"


@pytest.mark.parametrize(
    ("webhook", "client", "reason"),
    [
        ("order", "acme", "did you mean orders"),
        ("orders", "other", "tenure webhooks endpoints add"),
        ("orders", None, "tenure webhooks endpoints add"),
        (URL, "other", "--host orders.example.com"),
        ("https://b.example.com/", "acme", "--host b.example.com"),
        ("https://a.example.com.evil.com/", "acme", "--host a.example.com.evil.com"),
        ("http://a.example.com/x", "acme", "https://"),
        ("https://a.example.com:8443/x", "acme", "port 8443"),
        ("https://u@a.example.com/", "acme", "user or password"),
        ("file:///etc/passwd", "acme", "https://"),
    ],
)
async def test_what_may_not_be_called_is_refused_with_what_to_do(
    world: World, webhook: str, client: str | None, reason: str
) -> None:
    await world.hooks.endpoints.add("orders", URL, clients=["acme"], hosts=["a.example.com"])
    with pytest.raises(WebhookRefused, match=reason) as caught:
        await world.hooks.target(webhook, client)
    assert caught.value.code == "webhook_refused"
    assert "Nothing was sent" in str(caught.value)


async def test_a_disabled_endpoint_may_be_asked_for(world: World) -> None:
    await world.hooks.endpoints.add("orders", URL)
    await world.hooks.endpoints.disable("orders", "maintenance")
    assert await world.hooks.target("orders", None) == "webhook:orders"
