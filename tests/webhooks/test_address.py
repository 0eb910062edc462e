"""Which URLs and addresses webhooks may call: tables of cases."""

import ipaddress

import pytest

from tenure.rules.webhook_allow import allowance
from tenure.webhooks.address import AddressRules, Unreadable, is_public, read

#: URLs that nothing is known of but their text: why they are refused, or "" for accepted.
URLS: dict[str, tuple[str, str]] = {
    "public": ("https://hooks.example.com/a?b=c", ""),
    "port 443 said": ("https://hooks.example.com:443/", ""),
    "a dot at the end": ("https://hooks.example.com./", ""),
    "upper case": ("HTTPS://HOOKS.EXAMPLE.COM/", ""),
    "punycode": ("https://xn--bcher-kva.example/", ""),
    "a public address": ("https://93.184.215.14/", ""),
    "a public IPv6 address": ("https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", ""),
    "http": ("http://hooks.example.com/", "https://"),
    "another port": ("https://hooks.example.com:8443/", "port 8443"),
    "port 80 with TLS": ("https://hooks.example.com:80/", "port 80"),
    "port 0": ("https://hooks.example.com:0/", "port"),
    "an empty port": ("https://hooks.example.com:/", "port"),
    "a port too large": ("https://hooks.example.com:65536/", "read"),
    "a port that is none": ("https://hooks.example.com:x/", "read"),
    "file": ("file:///etc/passwd", "https://"),
    "ftp": ("ftp://hooks.example.com/", "https://"),
    "gopher": ("gopher://127.0.0.1:6379/_x", "https://"),
    "no scheme": ("//hooks.example.com/", "https://"),
    "javascript": ("javascript:alert(1)", "https://"),
    "empty": ("", "https://"),
    "no host": ("https:///a", "no host"),
    "a user": ("https://user@hooks.example.com/", "user or password"),
    "a user and password": ("https://u:p@hooks.example.com/", "user or password"),
    "a host as a user": ("https://hooks.example.com@127.0.0.1/", "user or password"),
    "an empty user": ("https://@hooks.example.com/", "user or password"),
    "a fragment": ("https://hooks.example.com/#a", "fragment"),
    "an empty fragment": ("https://hooks.example.com/#", "fragment"),
    "a space": ("https://hooks.example.com/a b", "spaces"),
    "a backslash": ("https://hooks.example.com\\@127.0.0.1/", "backslashes"),
    "a line break": ("https://hooks.example.com/\r\nX-Evil: 1", "ASCII"),
    "a tab": ("https://hooks.exa\tmple.com/", "ASCII"),
    "letters that are not ASCII": ("https://bücher.example/", "ASCII"),
    "digits that are not ASCII": ("https://\uff11\uff12\uff17.0.0.1/", "ASCII"),
    "a percent sign in the host": ("https://127%2E0.0.1/", "no host"),
    "too long": ("https://hooks.example.com/" + "a" * 2_000, "ASCII"),
    "a label too long": ("https://" + "a" * 64 + ".com/", "no host"),
    "loopback": ("https://127.0.0.1/", "not a public"),
    "loopback, elsewhere": ("https://127.255.0.9/", "not a public"),
    "loopback, IPv6": ("https://[::1]/", "not a public"),
    "unspecified": ("https://0.0.0.0/", "not a public"),
    "unspecified, IPv6": ("https://[::]/", "not a public"),
    "this network": ("https://0.1.2.3/", "not a public"),
    "private 10": ("https://10.1.2.3/", "not a public"),
    "private 172": ("https://172.16.0.1/", "not a public"),
    "private 192": ("https://192.168.1.1/", "not a public"),
    "unique local": ("https://[fd12:3456::1]/", "not a public"),
    "link-local": ("https://169.254.1.1/", "not a public"),
    "link-local, IPv6": ("https://[fe80::1]/", "not a public"),
    "link-local with a zone": ("https://[fe80::1%25eth0]/", "no host"),
    "site-local": ("https://[fec0::1]/", "not a public"),
    "CGNAT": ("https://100.64.0.1/", "not a public"),
    "benchmarks": ("https://198.18.0.1/", "not a public"),
    "documentation": ("https://203.0.113.5/", "not a public"),
    "documentation, IPv6": ("https://[2001:db8::1]/", "not a public"),
    "multicast": ("https://224.0.0.1/", "not a public"),
    "multicast, IPv6": ("https://[ff02::1]/", "not a public"),
    "broadcast": ("https://255.255.255.255/", "not a public"),
    "reserved": ("https://240.0.0.1/", "not a public"),
    "6to4 relay": ("https://192.88.99.1/", "not a public"),
    "NAT64 of loopback": ("https://[64:ff9b::7f00:1]/", "not a public"),
    "NAT64 of a public one": ("https://[64:ff9b::5db8:d70e]/", "not a public"),
    "local NAT64": ("https://[64:ff9b:1::a00:1]/", "not a public"),
    "6to4 of a private one": ("https://[2002:a00:1::1]/", "not a public"),
    "6to4 of a public one": ("https://[2002:5db8:d70e::1]/", "not a public"),
    "Teredo": ("https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "not a public"),
    "mapped loopback": ("https://[::ffff:127.0.0.1]/", "not a public"),
    "mapped private": ("https://[::ffff:10.0.0.1]/", "not a public"),
    "mapped public": ("https://[::ffff:93.184.215.14]/", "not a public"),
    "compatible loopback": ("https://[::127.0.0.1]/", "not a public"),
    "decimal": ("https://2130706433/", "no host"),
    "hex": ("https://0x7f000001/", "no host"),
    "hex parts": ("https://0x7f.0x0.0x0.0x1/", "no host"),
    "octal": ("https://017700000001/", "no host"),
    "octal parts": ("https://0177.0.0.1/", "no host"),
    "octal that looks decimal": ("https://010.0.0.1/", "no host"),
    "short": ("https://127.1/", "no host"),
    "mixed": ("https://127.0x1/", "no host"),
    "a number with a dot at its end": ("https://2130706433./", "no host"),
    "an address with a dot at its end": ("https://127.0.0.1./", "not a public"),
    "AWS metadata": ("https://169.254.169.254/latest", "metadata"),
    "AWS metadata, IPv6": ("https://[fd00:ec2::254]/", "metadata"),
    "AWS container credentials": ("https://169.254.170.2/", "metadata"),
    "EKS pod identity": ("https://169.254.170.23/", "metadata"),
    "Azure's wire server": ("https://168.63.129.16/", "metadata"),
    "Alibaba metadata": ("https://100.100.100.200/", "metadata"),
    "Oracle metadata": ("https://192.0.0.192/", "metadata"),
    "Google metadata by name": ("https://metadata.google.internal/", "metadata"),
    "Google metadata with a dot": ("https://metadata.google.internal./", "metadata"),
    "mapped metadata": ("https://[::ffff:169.254.169.254]/", "metadata"),
    "NAT64 of metadata": ("https://[64:ff9b::a9fe:a9fe]/", "metadata"),
    "6to4 of metadata": ("https://[2002:a9fe:a9fe::1]/", "metadata"),
}  # fmt: skip


@pytest.mark.parametrize(("url", "reason"), URLS.values(), ids=URLS)
def test_a_url_is_accepted_or_refused_by_its_text(url: str, reason: str) -> None:
    refusal = AddressRules().refusal(url)
    assert (reason in refusal) if reason else refusal == ""


EVERYTHING = ("0.0.0.0/0", "::/0")

#: Allowances, URL, the addresses of its name, and why it is refused.
RESOLVED: dict[str, tuple[tuple[str, ...], str, tuple[str, ...], str]] = {
    "public": ((), "https://a.example/", ("93.184.215.14",), ""),
    "a name of a private address": ((), "https://a.example/", ("10.0.0.1",), "not a public"),
    "one of several is private": ((), "https://a.example/", ("93.184.215.14", "10.0.0.1"), "not a public"),
    "one of several is loopback": ((), "https://a.example/", ("93.184.215.14", "::1"), "not a public"),
    "no address": ((), "https://a.example/", (), "no address"),
    "an allowed network": (("10.0.0.0/8",), "https://a.example/", ("10.0.0.1",), ""),
    "an allowed network, http": (("10.0.0.0/8",), "http://a.example/", ("10.0.0.1",), ""),
    "an allowed network, another port": (("10.0.0.0/8",), "http://a.example:8080/", ("10.0.0.1",), ""),
    "half of it allowed": (("10.0.0.0/8",), "https://a.example/", ("10.0.0.1", "192.168.0.1"), "not a public"),
    "an allowance opens no public http": (("10.0.0.0/8",), "http://a.example/", ("93.184.215.14",), "https://"),
    "an allowed host": (("a.example",), "http://a.example:8080/", ("10.0.0.1",), ""),
    "an allowed host and port": (("a.example:8080",), "http://a.example:8080/", ("10.0.0.1",), ""),
    "the port of an allowance": (("a.example:8080",), "http://a.example:8081/", ("10.0.0.1",), "https://"),
    "a name under an allowed host": (("a.example",), "https://b.a.example/", ("10.0.0.1",), "not a public"),
    "an allowed address and port": (("127.0.0.1:9000",), "http://127.0.0.1:9000/", ("127.0.0.1",), ""),
    "another port of it": (("127.0.0.1:9000",), "http://127.0.0.1:9001/", ("127.0.0.1",), "not a public"),
    "an allowed IPv6 address": (("[fd00::5]:9000",), "http://[fd00::5]:9000/", ("fd00::5",), ""),
    "NAT64 allowed": (("64:ff9b::/96",), "https://a.example/", ("64:ff9b::5db8:d70e",), ""),
    "NAT64 allowed, private behind it": (("64:ff9b::/96",), "https://a.example/", ("64:ff9b::a00:1",), "not a public"),
    "local NAT64, everything allowed": (EVERYTHING, "https://a.example/", ("64:ff9b:1::a00:1",), "not a public"),
    "metadata, its network allowed": (("169.254.0.0/16",), "http://a.example/", ("169.254.169.254",), "metadata"),
    "metadata, itself allowed": (("169.254.169.254",), "http://169.254.169.254/", ("169.254.169.254",), "metadata"),
    "metadata by an allowed name": (("a.example",), "http://a.example/", ("169.254.169.254",), "metadata"),
    "metadata, everything allowed": (EVERYTHING, "http://a.example/", ("::ffff:169.254.169.254",), "metadata"),
    "Azure's wire server, everything allowed": (EVERYTHING, "https://a.example/", ("168.63.129.16",), "metadata"),
    "metadata's name allowed": (("metadata.google.internal",), "http://metadata.google.internal/", ("8.8.8.8",),
                                "metadata"),
    "our own API by name": (("tenure.internal",), "http://tenure.internal:8383/", ("10.0.0.9",), "own API"),
    "our own API by address": (EVERYTHING, "http://a.example:8383/", ("127.0.0.1",), "own API"),
    "our own API, mapped": (EVERYTHING, "http://a.example:8383/", ("::ffff:127.0.0.1",), "own API"),
    "another port of our own host": (EVERYTHING, "http://a.example:8384/", ("127.0.0.1",), ""),
}  # fmt: skip


@pytest.mark.parametrize(("allow", "url", "addresses", "reason"), RESOLVED.values(), ids=RESOLVED)
def test_a_name_is_judged_by_every_address_that_it_has(
    allow: tuple[str, ...], url: str, addresses: tuple[str, ...], reason: str
) -> None:
    rules = AddressRules(allow, own=[("127.0.0.1", 8383), ("tenure.internal", 8383)])
    refusal = rules.refusal_of(read(url), [ipaddress.ip_address(one) for one in addresses])
    assert (reason in refusal) if reason else refusal == ""


def test_an_allowed_host_is_accepted_before_its_addresses_are_known() -> None:
    assert AddressRules(["hooks.internal:8080"]).refusal("http://hooks.internal:8080/a") == ""
    assert AddressRules(["hooks.internal:8080"]).refusal("http://hooks.internal/a")


def test_with_an_allowed_network_a_name_is_judged_later() -> None:
    assert AddressRules(["10.0.0.0/8"]).refusal("http://a.example:8080/") == ""
    assert AddressRules(["10.0.0.0/8"]).refusal("http://192.168.0.1:8080/")


def test_what_was_read_is_what_is_called() -> None:
    assert read("https://[::FFFF:7f00:1]:8443/").host == "::ffff:7f00:1"
    with pytest.raises(Unreadable):
        read("https://[::1/")


@pytest.mark.parametrize("entry", ["", "a b", "10.0.0.1/8", "http://a", "a:0", "a:65536", "a:x", "*.example.com", "-a"])
def test_an_allowance_that_is_none_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"neither a host nor a network|does not appear"):
        allowance(entry)


def test_public_means_what_ipaddress_calls_global_and_nothing_inside() -> None:
    assert is_public(ipaddress.ip_address("1.1.1.1"))
    assert is_public(ipaddress.ip_address("2606:4700::1111"))
    assert not is_public(ipaddress.ip_address("192.0.0.9"))
