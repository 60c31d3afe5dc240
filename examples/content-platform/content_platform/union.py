"""One answer out of the queries of several accounts.

No account knows of the others, so there is no order over all of them and nothing to compare: an item
is in one account only. What remains is to wait for the slowest once a turn and not once a page.
"""

import asyncio


async def union(pagers):
    """Yields the rows of one page of every pager that has one, pager after pager, until none has.

    The pages of a turn are asked for at the same time. An account that cannot answer fails the whole
    read: half a list that looks like all of it would be worse.
    """
    pagers = list(pagers)
    while pagers:
        pages = await asyncio.gather(*(_next_page(pager) for pager in pagers))
        pagers = [pager for pager, page in zip(pagers, pages) if page is not None]
        if pagers:
            yield [row for page in pages if page is not None for row in page]


async def _next_page(pager):
    try:
        page = await pager.__anext__()
    except StopAsyncIteration:
        return None
    return [row async for row in page]
