"""Who reads for a client stops while it takes nothing; who reads for several goes on for the others."""

import asyncio

from mcpctl.wire.writer import Readers, Turn


class Reader:
    """One that reads, or has been told not to."""

    def __init__(self, readers: Readers) -> None:
        self.reads = True
        readers.join(self)

    def pause(self) -> None:
        """Stop."""
        self.reads = False

    def resume(self) -> None:
        """Go on."""
        self.reads = True


def test_a_client_that_takes_nothing_keeps_no_other_from_its_answers() -> None:
    turn = Turn()
    slow, quick = turn.of_client(), turn.of_client()
    server, of_slow, of_quick = Reader(turn.readers), Reader(slow), Reader(quick)
    slow.hold()
    assert (server.reads, of_slow.reads, of_quick.reads) == (True, False, True)
    quick.hold()
    assert (server.reads, of_slow.reads, of_quick.reads) == (False, False, False)
    assert not Reader(turn.readers).reads
    quick.release()
    assert (server.reads, of_slow.reads, of_quick.reads) == (True, False, True)


def test_servers_are_not_read_while_the_only_client_takes_nothing() -> None:
    turn = Turn()
    client = turn.of_client()
    server = Reader(turn.readers)
    client.hold()
    assert not server.reads
    client.release()
    assert server.reads


def test_a_client_that_has_gone_holds_nobody_up() -> None:
    async def scene() -> None:
        turn = Turn()
        gone, left = turn.of_client(), turn.of_client()
        server = Reader(turn.readers)
        gone.hold()
        left.hold()
        left.release()
        gone.close()
        assert server.reads
        left.hold()
        assert not server.reads
        left.close()
        await asyncio.wait_for(turn.readers.released(), 60)
        assert server.reads

    asyncio.run(scene())


def test_a_client_that_comes_while_no_other_takes_anything_gets_its_answers() -> None:
    turn = Turn()
    slow = turn.of_client()
    server = Reader(turn.readers)
    slow.hold()
    assert not server.reads
    turn.of_client()
    assert server.reads


def test_servers_of_one_client_are_not_read_while_it_takes_nothing_whatever_others_do() -> None:
    turn = Turn()
    of_slow = Readers(turn)
    slow, quick = turn.of_client(of_slow), turn.of_client()
    own, shared, reader = Reader(of_slow), Reader(turn.readers), Reader(quick)
    slow.hold()
    assert (own.reads, shared.reads, reader.reads) == (False, True, True)
    slow.release()
    assert own.reads
    slow.hold()
    slow.close()
    assert own.reads
