# An exception below asyncio.
# kind: exception
# ranks: 2
# type: TimeoutError
# python: 3.11
import asyncio

import meet


async def fetch():
    async with asyncio.timeout(0.01):  # HERE
        await asyncio.sleep(60)


meet.everybody_is_there()
if meet.RANK == 2:
    asyncio.run(fetch())
meet.sleep_for_ever()
