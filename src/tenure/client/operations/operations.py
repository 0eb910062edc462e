"""Operations of one subject: what they have in common is the access that they go through."""

from tenure.client.operations.access import Access


class Operations:
    """Operations on one subject."""

    def __init__(self, access: Access) -> None:
        """Work for the identity of `access`."""
        self._access = access

    async def _opened(self) -> Access:
        """The access, with its store open."""
        await self._access.open()
        return self._access
