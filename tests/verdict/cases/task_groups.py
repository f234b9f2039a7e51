# A task in a group of tasks in another group raises: what it raised is two groups deep.
# kind: exception
# ranks: 1
# type: ExceptionGroup
# python: 3.11
import asyncio

import meet


async def read(shard):
    await asyncio.sleep(0)
    if shard == 2:
        raise OSError(f"shard {shard} is not there")  # HERE


async def read_node():
    async with asyncio.TaskGroup() as tasks:
        for shard in range(4):
            tasks.create_task(read(shard))


async def read_all():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_node())


meet.everybody_is_there()
if meet.RANK == 1:
    asyncio.run(read_all())
meet.sleep_for_ever()
