"""How many requests are in flight."""

import asyncio

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.endpoint.pace import START, Pace, Throttle


async def through(throttle, *, fine=True, slower=False, seconds=0.0):
    async with throttle.slot() as slot:
        await asyncio.sleep(seconds)
        slot.fine, slot.slower = fine, slower


def gathered(*coroutines):
    async def together():
        await asyncio.gather(*coroutines)

    asyncio.run(together())


def test_it_doubles_each_round_while_all_goes_well_and_stops_at_the_most():
    throttle = Throttle(24)

    async def several():
        many = [asyncio.create_task(through(throttle, seconds=0.01)) for _ in range(200)]
        await asyncio.sleep(0)
        seen = [throttle.in_flight]
        while not all(task.done() for task in many):
            await asyncio.sleep(0)
            if throttle.in_flight != seen[-1]:
                seen.append(throttle.in_flight)
        return seen

    seen = asyncio.run(several())
    assert seen[0] == START and max(seen) == 24 == throttle.limit
    assert next(n for n in seen if n > START) <= 2 * START


def test_never_more_in_flight_than_the_limit_and_everybody_comes_through():
    throttle, peak, done = Throttle(5), 0, 0

    async def watched():
        nonlocal peak, done
        async with throttle.slot() as slot:
            peak = max(peak, throttle.in_flight)
            await asyncio.sleep(0.001)
            slot.fine = True
        done += 1

    gathered(*[watched() for _ in range(40)])
    assert (peak, done, throttle.in_flight) == (5, 40, 0)


def test_requests_that_were_in_flight_together_halve_it_once():
    throttle = Throttle(8)
    gathered(*[through(throttle, fine=False, slower=True) for _ in range(8)])
    assert throttle.limit == 4
    for expected in (2, 1, 1):
        gathered(*[through(throttle, fine=False, slower=True) for _ in range(2)])
        assert throttle.limit >= expected
    gathered(through(throttle, fine=False, slower=True))
    assert throttle.limit == 1


def test_after_a_halving_it_grows_by_one_a_round():
    throttle = Throttle(64)
    gathered(*[through(throttle, fine=False, slower=True) for _ in range(START)])
    gathered(*[through(throttle, seconds=0.001) for _ in range(START // 2)])
    assert START // 2 < throttle.limit <= START // 2 + 1.01


def test_it_does_not_grow_where_it_is_not_reached():
    throttle = Throttle(64)
    for _ in range(20):
        gathered(through(throttle))
    assert throttle.limit == START


def test_nothing_is_sent_during_a_pause():
    async def paused():
        throttle, loop = Throttle(4), asyncio.get_running_loop()
        began = loop.time()
        throttle.pause(0.05)
        await asyncio.gather(*[through(throttle) for _ in range(6)])
        return loop.time() - began

    assert asyncio.run(paused()) >= 0.05


def test_who_is_cancelled_while_waiting_takes_no_place():
    async def cancelled():
        throttle = Throttle(1)
        first = asyncio.create_task(through(throttle, seconds=0.01))
        await asyncio.sleep(0)
        others = [asyncio.create_task(through(throttle)) for _ in range(3)]
        await asyncio.sleep(0)
        others[0].cancel()
        await asyncio.gather(first, *others, return_exceptions=True)
        throttle.pause(60)
        waiting = asyncio.create_task(through(throttle))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return throttle.in_flight, [task.cancelled() for task in others]

    assert asyncio.run(cancelled()) == (0, [True, False, False])


@pytest.mark.parametrize("name", ["concurrency", "timeout", "attempts", "longest_wait", "give_up_after"])
def test_a_pace_of_nothing_is_refused(name):
    with pytest.raises(BadArgument, match=name):
        Pace(**{name: 0})
