"""`FakeLLM`: answers requests from a script and keeps a journal of them.

The core is synchronous; `_exchange` is a generator that yields what an async function turn gives to
await, so that one body serves clients that block and clients on an event loop.
"""

from __future__ import annotations

import contextvars
import hashlib
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack

from fake_llm import _blocks, _environment, _stencils
from fake_llm._call import Call, Calls, retry_count
from fake_llm._dialect import FORGOTTEN, Asked, Exchange, Ids, named_results, parsed
from fake_llm._endpoints import RETRIED, Endpoint, Provider
from fake_llm._errors import (
    FakeLLMFailure,
    FunctionTurnError,
    ScriptError,
    ScriptMismatchError,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
    clipped,
    sentence,
)
from fake_llm._explain import (
    counted,
    dialled,
    forbidden,
    own_fault,
    shown,
    unknown_endpoint,
    unknown_host,
    unknown_reply,
    unscripted,
    unused,
)
from fake_llm._form import without_boundary
from fake_llm._model import Fault, Request, Response, Usage
from fake_llm._mount import Mounted, adapter, mount, transport
from fake_llm._options import BlockOptions, Options, Pace
from fake_llm._place import Place, here, task
from fake_llm._public import public
from fake_llm._render import Rendered, render, render_error, render_service
from fake_llm._routes import Declared, Route, Routes, is_metadata
from fake_llm._script import (
    PASSED_ON,
    Broken,
    Function,
    Misfit,
    Pattern,
    Rule,
    Script,
    Taken,
    Turn,
    Verbatim,
    as_failure,
    as_script,
    as_turn,
    is_fault,
)
from fake_llm._services._base import Store
from fake_llm._tokens import input_tokens, tokens
from fake_llm._turns import Embedding, Error, Framing, Reply
from fake_llm._validate import refusal

if TYPE_CHECKING:
    import httpx
    import httpx2
    from requests.adapters import BaseAdapter

__all__ = ["FakeLLM"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

STOPPED: Final = Reply("[fake_llm: the script is exhausted]", check=False)
_NO_PACE: Final = Pace()
MADE_UP: Final = Reply()
"""Answers what isn't chat when no rule does: its dialect makes up the parts."""


class _Arrival(NamedTuple):
    """A request, where it leads, its parsed body, and by what its stencil is found."""

    request: Request
    route: Route
    endpoint: Endpoint | None
    body: Any
    key: _stencils.Key | None


@dataclass(slots=True)
class _Failed:
    """The last answer of a call when it was an error or a fault: what a retry may get again."""

    taken: Taken
    attempt: int


class FakeLLM:
    """Answers calls to LLM providers from a script; `with intercept(script) as fake` gives one.

    Args:
        script: A list of turns, or a single turn.
        options: See `intercept`.

    Raises:
        ScriptError: A turn or an option that can't be one.

    >>> FakeLLM(["Hello"]).remaining
    1
    """

    def __init__(self, script: Any = (), /, **options: Unpack[BlockOptions]) -> None:
        checked = Options.of(options)
        self._begin(checked, Script(as_script(script), _default(checked)))

    def _begin(self, options: Options, script: Script) -> None:
        """Be a new one."""
        self._options = options
        self._usual = options.usual
        self._script = script
        self._routes = Routes(options.hosts)
        self._calls = Calls()
        self._side_calls = Calls()
        self._failures: list[BaseException] = []
        self._settled: list[
            BaseException
        ] = []  # what the end of a mount has raised, or let pass: no later one does again
        self._told: list[BaseException] = []  # what a test runner has reported: the end of the block doesn't again
        self._store = Store(options.context_window, ask=self.answer)
        self._seen: dict[bytes, int] = {}
        self._failed: dict[tuple[bytes, Any, Any], _Failed] = {}
        self._failing: dict[Place, Call] = {}
        self._forbids = False
        self._home: Place | None = None
        self._homes: tuple[Place, ...] = ()
        self._mounted = 0
        self._bare = False
        self._hosts: Declared = ()  # what its block found in the environment

    # --- what people use ---

    @property
    def calls(self) -> Calls:
        """What was asked of a model, in order."""
        return self._calls

    @property
    def side_calls(self) -> Calls:
        """Housekeeping of SDKs: model lists, files, tokens. It never touches the script but for rules that name its operation."""
        return self._side_calls

    @property
    def failures(self) -> list[BaseException]:
        """What went wrong while calls were on their way; the first is raised at the end of the block.

        With `strict=False` only what a test's own functions raised is.
        """
        return self._failures

    @property
    def remaining(self) -> int:
        """Turns that nobody has asked for yet, those of rules included; a rule that answers for ever has none."""
        return self._script.remaining

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        total = Usage(0, 0)
        for call in self._calls:
            if call.usage is not None:
                total += call.usage
        return total

    @property
    def cost(self) -> Any:
        """The sum of what `cost=` made of each call, a number or a dict of numbers; `None` without it."""
        total: Any = None
        for call in self._calls:
            if call.cost is not None:
                total = call.cost if total is None else _added(total, call.cost)
        return total

    def push(self, *turns: Any) -> None:
        """Append turns to the queue; a list among them is one turn of several parts.

        >>> fake = FakeLLM()
        >>> fake.push("one", ["two", "in two parts"])
        >>> fake.remaining
        2
        """
        self._script.push([as_turn(turn, "push()") for turn in turns])

    def when(
        self,
        *predicates: Callable[[Call], Any],
        input: Pattern | None = None,
        last: Pattern | None = None,
        system: Pattern | None = None,
        tool: str | None = None,
        tool_result: Pattern | None = None,
        model: Pattern | None = None,
        provider: Pattern | None = None,
        operation: Pattern = "chat",
        stream: bool | None = None,
        turn: int | None = None,
        times: int | None = None,
    ) -> When:
        """A rule: what is answered to calls that fit, once the queue is spent.

        The first rule that fits wins, in order of declaration. A `str` of `input`, `last`, `system` and
        `tool_result` is a part of the text, of `model`, `provider` and `operation` the whole; a
        compiled pattern is found. Without any of them, every chat call fits.

        A rule that names what is kept in `side_calls`, such as `operation="files"`, `"batches"`, `"models"` or `"token"`, may let
        it fail: by `Error`, an exception, `Raw`, or a function that returns one of them, or `None` for what is made up
        without a rule. No pattern finds these.

        Args:
            predicates: Functions of the call, each called once for a request.
            input: Against all user texts joined by a blank; those of a call for embeddings are its inputs.
            last: Against the last user text.
            system: Against the system text.
            tool: The tool of the last result, of the last tool calls, or named in a user text.
            tool_result: Against the results that were just fed back.
            model: The model asked for.
            provider: Who is called.
            operation: What is asked for; `"unknown"` for a path that nothing answers.
            stream: Whether a stream is asked for.
            turn: The number of assistant messages in the request; 0 is the first round.
            times: How often the rule answers; without it, one turn repeats for ever.

        Returns:
            The rule, which has no turns until `.reply(…)` says them.

        Raises:
            ScriptError: What could never fit a call.

        >>> fake = FakeLLM()
        >>> _ = fake.when(system="planner").reply("First, …")
        """
        rule = Rule(predicates, input, last, system, tool, tool_result, model, provider, operation, stream, turn, times)
        rule.check()
        with self._script.lock:
            self._script.rules.append(rule)
        return When(self, rule)

    def default(self, turn: Any) -> None:
        """The turn for every call that neither the queue nor a rule answers; `None` takes it away."""
        self._script.default = None if turn is None else _chat_default(turn, "default()")

    def reset(self) -> None:
        """Empty queue, rules, default, calls, side calls and failures, and forget the answers that calls can build on."""
        with self._script.lock:
            self._script.clear()
            self._calls.clear()
            self._side_calls.clear()
            self._failures.clear()
            self._settled.clear()
            self._told.clear()
            self._seen.clear()
            self._store.clear()
            self._failed.clear()
            self._failing.clear()

    def copy(self, **options: Unpack[BlockOptions]) -> FakeLLM:
        """Another one, independent of this: the script as written plus what was pushed, rules and default, no calls.

        Args:
            options: Those that are to differ; the others stay. See `intercept`.

        Raises:
            ScriptError: An option that can't be one.

        >>> FakeLLM(["Hello"]).copy(strict=False).remaining
        1
        """
        copied = FakeLLM.__new__(FakeLLM)
        copied._begin(Options.of(options, self._options), self._script.copy())
        copied._forbids = self._forbids
        if "default" in options:
            copied._script.default = _default(copied._options)
        return copied

    def mount(self, target: Any, *, provider: str | None = None) -> Mounted:
        """Put the fake into one existing client; what is given back takes it out again.

        It is in place at once. `with` and `async with` give the fake, take it out at their end, and raise there what the end of a
        block would, as soon as no other mount of this fake is left; `unmount()` only takes it out. What was there
        before is there again, in whatever order several fakes leave; meanwhile the last one mounted answers. A mounted
        client answers known hosts and hosts that are declared, by `hosts=` or by the environment, and refuses all else: nothing
        it is asked goes out. It needs no credentials, as it exists already. What is mounted comes before an
        `intercept` block.

        On `respx` and `responses` the fake answers what none of the user's own routes does, those that pass requests on to the
        network left out; other hosts are left to them, and `calls` has what was asked here too. They see one HTTP
        library, and only while they are started. A call to a host of this fake by any other way is an
        `UninterceptedCallError`, as long as it is mounted there. Streams arrive chunk by chunk.

        Args:
            target: An `httpx` or `httpx2` client, sync or async, a `requests.Session`, an `aiohttp.ClientSession`, a client
                of boto3, a `respx` router or `respx` itself, a
                `responses.RequestsMock` or `responses` itself, or a client of openai, anthropic, google-genai,
                groq, cerebras-cloud-sdk, together, fireworks, writerai, zai, ollama or mistralai.
            provider: Whose language is spoken on any host that isn't known, whatever its base path.

        Raises:
            ScriptError: Something else, or a provider that can't be answered.

        >>> import httpx
        >>> client = httpx.Client(base_url="https://api.openai.com/v1")
        >>> with FakeLLM(["Hello!"]).mount(client) as fake:
        ...     answer = client.post("/responses", json={"model": "gpt-5", "input": "Hi"})
        >>> answer.json()["output"][0]["content"][0]["text"]
        'Hello!'
        """
        return mount(self, target, provider)

    def httpx_transport(self, *, provider: str | None = None) -> httpx.MockTransport:
        """A transport for `httpx.Client(transport=…)` or `mounts={…}`, sync and async; it refuses hosts that aren't known.

        Failures are raised in the thread and task that made it; elsewhere a call gets the vendor's own 400. `fake.failures` has
        them all, and `fake.check()` raises the first; in a test that pytest runs, what failed and wasn't checked fails that.

        Args:
            provider: Whose language is spoken on any host that isn't known.

        Raises:
            ScriptError: A provider that can't be answered.

        >>> import httpx
        >>> fake = FakeLLM(["Hello!"])
        >>> client = httpx.Client(transport=fake.httpx_transport(provider="anthropic"))
        >>> body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        >>> client.post("http://localhost:4000/v1/messages", json=body).json()["content"][0]["text"]
        'Hello!'
        """
        made: httpx.MockTransport = transport(self, "httpx", provider)
        return made

    def httpx2_transport(self, *, provider: str | None = None) -> httpx2.MockTransport:
        """`httpx_transport` for httpx2."""
        made: httpx2.MockTransport = transport(self, "httpx2", provider)
        return made

    def requests_adapter(self, *, provider: str | None = None) -> BaseAdapter:
        """An adapter for `session.mount("https://", …)` of requests; see `httpx_transport`."""
        made: BaseAdapter = adapter(self, provider)
        return made

    def check(self) -> None:
        """Raise what the end of a block would: the first failure, else `UnusedReplyError` for turns that are left."""
        verdict = self._verdict(None)
        self._settle()
        if verdict is not None:
            raise verdict

    def transcript(self) -> str:
        """The calls and their answers as text for people."""
        from fake_llm._transcript import transcript

        return transcript(self._calls, self._side_calls, self._failures)

    def __repr__(self) -> str:
        return f"<fake_llm.FakeLLM: {counted(self.remaining, 'turn')} left, {counted(len(self._calls), 'call')}>"

    # --- what stacks and the socket guard use ---

    def _refuses(self, host: str, port: int | None) -> bool:
        """Whether a socket to this host, which isn't a local one, is refused."""
        return self._options.block_network or self._routes.known(host, port) or (self._lends() and is_metadata(host))

    def _lends(self) -> bool:
        """Whether what asks for credentials is answered here: the dummies of a block are no good elsewhere."""
        return self._options.env

    def _declare_environment(self) -> Declared:
        """Claim the hosts that the environment names now, such as that of `OPENAI_BASE_URL`; gives what `_withdraw` takes."""
        hosts = _environment.declared_hosts() if self._options.env else {}
        return self._routes.declare(hosts) if hosts else ()

    def _withdraw(self, hosts: Declared) -> None:
        """Claim them no longer: the block, or the mount, that found them has ended."""
        if hosts:
            self._routes.withdraw(hosts)

    def claims(self, method: str, url: str) -> bool:
        """Whether a request is answered here: its host is a known LLM's, or declared; or it asks for credentials."""
        route = self._routes.find(method, url)
        return route is not None and (not route.provider.lends or self._lends())

    def asked_for(self, method: str, url: str) -> bool:
        """Whether a request is for a model, or for what its provider has beside it."""
        route = self._routes.find(method, url)
        return route is not None and not route.provider.lends

    def answer(self, request: Request, provider: str | None = None) -> Response | Fault:
        """The answer for a client that blocks; async function turns run to their end on a loop of their own.

        Args:
            request: What came.
            provider: Who answers where the host isn't known.
        """
        arrival = self._arrival(request, provider)
        if isinstance(arrival, Response):
            return arrival
        exchange = self._exchange(arrival)
        try:
            awaitable = next(exchange)
            while True:
                try:
                    result = _run(awaitable)
                except BaseException as error:  # noqa: BLE001 - the generator decides
                    awaitable = exchange.throw(error)
                else:
                    awaitable = exchange.send(result)
        except StopIteration as stop:
            answer: Response | Fault = stop.value
            return answer

    async def answer_async(self, request: Request, provider: str | None = None) -> Response | Fault:
        """The answer for a client on an event loop, which awaits async function turns itself."""
        arrival = self._arrival(request, provider)
        if isinstance(arrival, Response):
            return arrival
        exchange = self._exchange(arrival)
        try:
            awaitable = next(exchange)
            while True:
                try:
                    result = await awaitable
                except BaseException as error:  # noqa: BLE001 - the generator decides
                    awaitable = exchange.throw(error)
                else:
                    awaitable = exchange.send(result)
        except StopIteration as stop:
            answer: Response | Fault = stop.value
            return answer

    # --- one exchange ---

    def _arrival(self, request: Request, provider: str | None) -> _Arrival | Response:
        """Where a request leads; or its answer, where that is a stencil's."""
        route = self._routes.find(request.method, request.url) or self._routes.elsewhere(
            request.method, request.path, provider
        )
        key, row, name = None, route.endpoint, route.provider.name
        plain = self._usual and row is not None and not self._forbids and self._next_is_text()
        plain = plain and len(request.body) <= _stencils.LONGEST
        if plain and row is not None and not row.by_body and (fitting := _stencils.fitting(row, name, request)):
            filled = self._filled(request, route.provider, *fitting)
            if filled is not None:
                return filled
        body = parsed(request)
        endpoint = None if row is None else row.of_body(body)
        if plain and endpoint is not None:
            key = _stencils.key_of(endpoint, name, request.url, body)
            stencil = None if key is None else _stencils.found(key, request)
            if key is not None and stencil is not None:
                filled = self._filled(request, route.provider, stencil, key.tokens)
                if filled is not None:
                    return filled
        return _Arrival(request, route, endpoint, body, key)

    def _next_is_text(self) -> bool:
        """Whether the next turn is a text; at once, as nobody else has to wait for it."""
        turn: Turn | None
        try:
            turn = self._script.queue[0]
        except IndexError:
            turn = self._script.default
        return type(turn) is Reply and len(turn.parts) == 1 and type(turn.parts[0]) is str

    def _filled(self, request: Request, provider: Provider, stencil: _stencils.Stencil, count: int) -> Response | None:
        """The stencil's answer to a plain request, whose texts have so many tokens, by a plain text; `None` if another is next."""
        script = self._script
        if self._failed:
            return None
        with script.lock:
            turn = script.queue[0] if script.queue else None if script.rules else script.default
            text = _stencils.plain_text(turn)
            if text is None:
                return None
            asked = Asked(request, stencil.endpoint.dialect, FORGOTTEN, _digest(request))
            call, ids = self._entered(asked, provider, stencil.endpoint, stencil.model, stream=False)
            call.reply = script.take(call.index) if script.queue else turn
        call._usage = said = text, stencil.base + count, tokens(text)
        call._response, known_by = stencil.answer(*said, ids)
        if known_by is not None:
            self._store.answered[known_by] = call
        return call._response

    def _exchange(self, arrival: _Arrival) -> Generator[Awaitable[Any], Any, Response | Fault]:
        request, route, endpoint, body, key = arrival
        if self._forbids and (
            endpoint is None or endpoint.deliberate or not endpoint.side
        ):  # an SDK's own errand asks no model
            return self._forbidden(request, route)
        if endpoint is None:
            return (yield from self._unknown(request, route))
        exchange, call = self._arrived(request, route.provider, endpoint, body)
        try:
            if endpoint.service is not None:
                rendered = yield from self._served(exchange, endpoint, call)
            else:
                refused = self._refused(exchange, endpoint, call)
                rendered = refused or (yield from self._generated(exchange, endpoint, call))
                if key is not None and refused is None:
                    _stencils.learn(key, exchange, endpoint, call.reply, rendered.answer)
        except FakeLLMFailure as failure:
            return self._failure(failure, exchange, endpoint, call)
        except Exception as error:  # noqa: BLE001 - an SDK would retry and swallow it
            return self._failure(_own_fault(error, call), exchange, endpoint, call)
        self._journal(call, rendered)
        return rendered.answer

    def _arrived(self, request: Request, provider: Provider, endpoint: Endpoint, body: Any) -> tuple[Exchange, Call]:
        dialect = endpoint.dialect
        asked = Asked(request, dialect, body, _digest(request))
        chat = endpoint.operation == "chat"
        model, stream = "", False
        if chat or endpoint.service is None or not endpoint.side:
            try:
                model, stream = dialect.model(request, body), dialect.stream(request, body)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError):  # the vendor's to refuse
                model, stream = "", False
        call, ids = self._entered(
            asked, provider, endpoint, model, stream=stream and (chat or endpoint.wire is not None)
        )
        return Exchange(provider.name, asked, ids, model, call.stream), call

    def _entered(
        self, asked: Asked, provider: Provider, endpoint: Endpoint, model: str, *, stream: bool
    ) -> tuple[Call, Ids]:
        """The entry in the journal, and where the ids of the answer come from."""
        digest = asked.digest
        with self._script.lock:
            occurrence = self._seen[digest] = self._seen.get(digest, 0) + 1
            calls = self._side_calls if endpoint.side else self._calls
            call = Call(
                asked,
                index=len(calls),
                timestamp=time.time(),
                provider=provider.name,
                operation=endpoint.operation,
                model=model,
                stream=stream,
            )
            thread, running = here()
            call._origin = thread, id(running)
            calls._append(call)
        ids = Ids(digest if occurrence == 1 else hashlib.blake2b(b"%d" % occurrence, key=digest).digest())
        return call, ids

    def _refused(self, exchange: Exchange, endpoint: Endpoint, call: Call) -> Rendered | None:
        """The vendor's own refusal of a malformed request, or of one over the context window."""
        dialect = endpoint.dialect
        own = endpoint.difference.check
        error = (
            own(exchange.request, exchange.body)
            if own is not None
            else Error("bad_request", dialect.bad_json)
            if exchange.body is None
            else dialect.check(exchange.request, exchange.body)
        )
        window = self._options.context_window
        if error is None and window is not None and endpoint.operation == "chat":
            wanted = exchange.view.params.get("max_tokens")
            reserve = max(wanted if isinstance(wanted, int) else 0, self._options.reserve_completion)
            count = input_tokens(exchange.body)
            if count > window - reserve:
                error = Error(
                    "context_length",
                    (endpoint.difference.too_long or dialect.too_long).format(
                        tokens=count + reserve if reserve else count, window=window
                    ),
                )
        return None if error is None else self._turned_down(error, exchange, endpoint, call)

    def _turned_down(self, error: Error, exchange: Exchange, endpoint: Endpoint, call: Call) -> Rendered:
        """The vendor's own refusal, which takes no turn."""
        host = endpoint.difference
        if host.failure is not None and host.check is None and error.body is not None:
            error = replace(error, body=None)  # the host says it in its own form
        call.reply = error
        call._refused = True
        return Rendered(render_error(error, exchange, endpoint))

    def _generated(
        self, exchange: Exchange, endpoint: Endpoint, call: Call
    ) -> Generator[Awaitable[Any], Any, Rendered]:
        dialect = endpoint.dialect
        if endpoint.memory is not None:
            earlier = endpoint.memory.recall(self._store, exchange)
            if isinstance(earlier, Error):
                return self._turned_down(earlier, exchange, endpoint, call)
            call._earlier = named_results(earlier)
        if dialect.continues is not None and (previous := dialect.continues(exchange.body)) is not None:
            call._before = self._store.answered.get(previous)
        if self._options.validate and (error := refusal(exchange, call._remembered)) is not None:
            return self._turned_down(error, exchange, endpoint, call)
        taken = self._at_once(call) or (yield from self._take(call, exchange, self._chosen(call)))
        assert taken is not None
        turn = taken.turn
        assert not isinstance(turn, Function)
        call.reply = None if turn is MADE_UP else _as_written(turn)
        rendered = render(turn, exchange, endpoint, taken.pace, self._options)
        self._remember(exchange, call, taken, rendered)
        call._chosen = exchange.choices
        if exchange.id is not None and dialect.continues is not None:
            self._store.answered[exchange.id] = call
        if endpoint.memory is not None:
            endpoint.memory.keep(self._store, exchange, rendered.answer)
        if rendered.usage is not None and self._options.cost is not None:
            try:
                call.cost = self._options.cost(rendered.usage)
            except BaseException as error:
                if _passes(error):
                    raise
                raise FunctionTurnError(error) from error
        return rendered

    def _served(self, exchange: Exchange, endpoint: Endpoint, call: Call) -> Generator[Awaitable[Any], Any, Rendered]:
        """A service's answer, unless a rule for its operation says another."""
        reply, pace = None, Pace()
        taken = yield from self._take(call, exchange, self._from_rules(call, []))
        if taken is not None:
            turn = taken.turn
            assert not isinstance(turn, Function)
            call.reply = _as_written(turn)
            unfit = as_failure(turn, call.operation) if endpoint.side else None
            if unfit is not None:
                raise ScriptMismatchError(unfit)
            if not isinstance(turn, Reply):
                rendered = render(turn, exchange, endpoint, taken.pace, self._options)
                self._remember(exchange, call, taken, rendered)
                return rendered
            reply, pace = turn, taken.pace
        if not endpoint.side and exchange.body is None and endpoint.method == "POST":
            return self._turned_down(Error("bad_request", endpoint.dialect.bad_json), exchange, endpoint, call)
        served = render_service(self._store, exchange, endpoint, reply, pace, self._options)
        if isinstance(served, Error):
            return self._turned_down(served, exchange, endpoint, call)
        if taken is not None or (self._failed and _origin(exchange) in self._failed):
            self._remember(exchange, call, taken, served)
        return served

    def _journal(self, call: Call, rendered: Rendered) -> None:
        answer = rendered.answer
        if isinstance(answer, Response):
            call._response = answer
        call._usage = rendered.usage
        call.waited = rendered.waited
        call._asked.forget()

    # --- choosing the turn ---

    def _at_once(self, call: Call) -> Taken | None:
        """The next turn, where no function, rule or earlier failure has a say."""
        script = self._script
        if self._failed or call.operation != "chat":
            return None
        with script.lock:
            if script.queue:
                return None if isinstance(script.queue[0], Function) else script.from_queue(call)
        if script.rules or script.default is None or isinstance(script.default, Function):
            return None
        return Taken(script.default, _NO_PACE, _always)

    def _take(
        self, call: Call, exchange: Exchange, choice: Generator[Awaitable[Any], Any, Taken | None]
    ) -> Generator[Awaitable[Any], Any, Taken | None]:
        """The chosen turn; for a retry of what failed, the same again once there is no other."""
        failed = self._failed.get(_origin(exchange)) if self._failed else None
        retried = failed is not None and retry_count(exchange.request) != 0
        if failed is not None and retried and retry_count(exchange.request) is None:
            call._attempt = failed.attempt + 1
        if failed is not None and retried and not failed.taken.more():
            return failed.taken
        return (yield from choice)

    def _remember(self, exchange: Exchange, call: Call, taken: Taken | None, rendered: Rendered) -> None:
        """Keep what failed for the retry of an SDK; forget it once the call has succeeded."""
        if taken is not None and _may_be_retried(rendered.answer, exchange.provider):
            self._failed[_origin(exchange)] = _Failed(taken, call.attempt)
            self._failing[here()] = call
        elif self._failed:
            self._failed.pop(_origin(exchange), None)
            self._failing.pop(here(), None)

    def _chosen(self, call: Call) -> Generator[Awaitable[Any], Any, Taken]:
        misfits: list[Misfit] = []
        with self._script.lock:
            taken = self._script.from_queue(call)
        if taken is not None:
            decided = yield from _decided(taken, call)
            if decided is not None:
                return decided
            misfits.append((f"the turn {shown(taken.turn)}", PASSED_ON))
        decided = yield from self._from_rules(call, misfits)
        if decided is not None:
            return decided
        if call.operation != "chat":
            return Taken(MADE_UP, Pace(), _always)
        return self._exhausted(call, misfits)

    def _from_rules(self, call: Call, misfits: list[Misfit]) -> Generator[Awaitable[Any], Any, Taken | None]:
        if not self._script.rules and self._script.default is None:
            return None
        try:
            for taken in self._script.from_rules(call, misfits):
                decided = yield from _decided(taken, call)
                if decided is not None:
                    return decided
        except BaseException as error:  # a predicate failed
            if _passes(error):
                raise
            raise FunctionTurnError(error) from error
        return None

    def _exhausted(self, call: Call, misfits: list[Misfit]) -> Taken:
        told = {id(misfit[0]) for misfit in misfits}
        misfits += [(rule, rule.over or "") for rule in self._script.rules if id(rule) not in told]
        elsewhere = sum(fake.remaining for fake in _blocks.opened() if fake is not self)
        failure = UnscriptedCallError(unscripted(self._script, self._calls, call, misfits, elsewhere))
        if self._options.on_exhausted == "raise":
            raise failure
        if self._options.on_exhausted == "stop":
            return Taken(STOPPED, Pace(), lambda: False)
        self._failures.append(failure)
        return Taken(Error("bad_request", str(failure)), Pace(), lambda: False)

    # --- strictness ---

    def _forbidden(self, request: Request, route: Route) -> Response:
        provider = route.provider
        endpoint = route.endpoint or Endpoint(operation="unknown", path="", dialect=provider.dialect)
        exchange, call = self._arrived(request, provider, endpoint, parsed(request))
        return self._failure(UnscriptedCallError(forbidden(request, provider)), exchange, endpoint, call)

    def _unknown(self, request: Request, route: Route) -> Generator[Awaitable[Any], Any, Response | Fault]:
        provider = route.provider
        endpoint = Endpoint(operation="unknown", path="", dialect=provider.dialect)
        exchange, call = self._arrived(request, provider, endpoint, parsed(request))
        try:
            taken = yield from self._take(call, exchange, self._from_rules(call, []))
            if taken is not None:
                turn = taken.turn
                assert not isinstance(turn, Function)
                call.reply = _as_written(turn)
                if isinstance(turn, (Reply, Verbatim)):
                    raise UnknownEndpointError(unknown_reply(request, turn))
                if isinstance(turn, Error) and turn.name == "not_found" and (turn.message, turn.body) == (None, None):
                    turn = _no_path(turn, request, provider)
                rendered = render(turn, exchange, endpoint, taken.pace, self._options)
                self._remember(exchange, call, taken, rendered)
                self._journal(call, rendered)
                return rendered.answer
            if request.headers.get("upgrade", "").lower() == "websocket":
                raise UninterceptedCallError(dialled(request))
            raise UnknownEndpointError(
                unknown_endpoint(request, provider) if provider.hosts else unknown_host(request, self._routes)
            )
        except FakeLLMFailure as failure:
            return self._failure(failure, exchange, endpoint, call)

    def _unseen(self, request: Request, failure: FakeLLMFailure) -> Response:
        """The end of a call that came by a way on which this fake isn't asked."""
        route = self._routes.find(request.method, request.url) or self._routes.elsewhere(
            request.method, request.path, None
        )
        endpoint = route.endpoint or Endpoint(operation="unknown", path="", dialect=route.provider.dialect)
        exchange, call = self._arrived(request, route.provider, endpoint, parsed(request))
        return self._failure(failure, exchange, endpoint, call)

    def _failure(self, failure: FakeLLMFailure, exchange: Exchange, endpoint: Endpoint, call: Call) -> Response:
        """Raised in place where it surely reaches the test, else the vendor's own 400 with its text."""
        call._failure = failure.original if isinstance(failure, FunctionTurnError) else failure
        if not any(call._failure is known for known in self._failures):  # that of a line is that of its batch
            self._failures.append(call._failure)
        if self._at_home():
            raise failure
        response = render_error(
            Error("bad_request", str(failure), headers={"x-should-retry": "false"}), exchange, endpoint
        )
        call._response = response
        return response

    def _at_home(self) -> bool:
        """Whether the running thread and task are those that entered the block, or that mounted."""
        place = here()
        return place == self._home or place in self._homes

    def _verdict(
        self, leaving: BaseException | None, *, unsettled: bool = False, turns: bool = True
    ) -> BaseException | None:
        """What the end of the block raises in place of what is leaving it, `None` to leave it so.

        Args:
            leaving: What is leaving it.
            unsettled: Only of failures that aren't settled.
            turns: Also for turns that are left.
        """
        if isinstance(leaving, FunctionTurnError):
            return leaving.original
        if isinstance(leaving, FakeLLMFailure):
            return None
        if isinstance(leaving, BaseExceptionGroup):
            first = _only_ours(leaving)
            if first is not None:
                return first.original if isinstance(first, FunctionTurnError) else first
        if leaving is not None and any(map(_stops, _leaves(leaving))):
            return None
        failure = self._first_failure(self._settled if unsettled else ())
        if failure is not None:
            return None if failure is leaving else failure
        if not turns or not self._options.strict or leaving is not None or self._told:
            return None
        silent = next((rule for rule in self._script.rules if not rule.turns), None)
        if silent is not None:
            return ScriptError(
                sentence(
                    f"The rule fake.{silent!r} says no answer.",
                    "A rule answers only with what its .reply() is given.",
                    f'Write fake.{silent!r}.reply("text").',
                )
            )
        return UnusedReplyError(unused(self._script, self._calls, self._side_calls)) if self.remaining else None

    def _first_failure(self, settled: Sequence[BaseException] = ()) -> BaseException | None:
        """The first that is still to be raised: without `strict`, of the test's own errors only."""
        over = [*self._told, *settled]
        failures = [error for error in self._failures if not any(error is other for other in over)]
        if not self._options.strict:
            failures = [error for error in failures if not isinstance(error, FakeLLMFailure)]
        return failures[0] if failures else None

    def _settle(self) -> None:
        """What failed until now has been judged."""
        self._settled = self._failures.copy()

    def _tell(self, error: BaseException) -> None:
        """A test in the block was left by this and has been reported: neither it nor the turns it left are raised again."""
        shown = list(_shown_with(error))
        if any(failure is one for failure in self._failures for one in shown):
            self._told.extend(self._failures)
        self._told.append(error)


class When:
    """A rule that still needs its turns: `fake.when(…).reply(…)`."""

    __slots__ = ("_fake", "_rule")

    def __init__(self, fake: FakeLLM, rule: Rule) -> None:
        self._fake = fake
        self._rule = rule

    def reply(
        self,
        *turns: Any,
        model: str | None = None,
        usage: Usage | None = None,
        delay: float | None = None,
        interval: float | None = None,
        chunk_size: int | None = None,
        framing: Framing | None = None,
    ) -> FakeLLM:
        """Answer the calls that fit: one turn for ever, several as a queue of the rule's own.

        Args:
            turns: Turns; a list among them is one turn of several parts.
            model: Options of a reply for all of them; a turn's own win.
            usage: See `model`.
            delay: See `model`.
            interval: See `model`.
            chunk_size: See `model`.
            framing: See `model`.

        Raises:
            ScriptError: No turn, or something that can't be one.
        """
        if not turns:
            raise ScriptError(
                sentence(
                    f"{self._rule!r}.reply() got no turn.",
                    "A rule answers with one turn for ever, or with several, one after the other.",
                    'Write .reply("text").',
                )
            )
        pace = Pace(model=model, usage=usage, delay=delay, interval=interval, chunk_size=chunk_size, framing=framing)
        pace.check("reply()")
        coerced = tuple(as_turn(turn, "reply()") for turn in turns)
        if self._rule.aside:
            for turn in coerced:
                unfit = as_failure(turn, str(self._rule.operation))
                if unfit is not None:
                    raise ScriptError(unfit)
        with self._fake._script.lock:
            self._rule.turns, self._rule.pace = coerced, pace
        return self._fake

    def __repr__(self) -> str:
        return repr(self._rule)


def _decided(taken: Taken, call: Call) -> Generator[Awaitable[Any], Any, Taken | None]:
    """The turn itself, or what its function returns for this call; `None` passes on."""
    turn = taken.turn
    while isinstance(turn, Function):
        try:
            value = turn.function(call)
            if hasattr(value, "__await__"):
                value = yield value
            if value is None:
                return None
            turn = as_turn(value, "A function turn")
        except BaseException as error:
            if _passes(error):
                raise
            if not is_fault(error):
                raise FunctionTurnError(error) from error
            turn = Broken(error)
    return taken if turn is taken.turn else replace(taken, turn=turn)


_RETRIED: Final = frozenset({408, 409, 429})
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500


def _no_path(error: Error, request: Request, provider: Provider) -> Error:
    """A bare 404 on a path that nobody knows: it is the path that isn't there, not a model."""
    if provider.no_path is None:
        return replace(error, message="Not Found")
    return replace(error, body=provider.no_path(request.method, request.path))


def _as_written(turn: Turn) -> Any:
    """What a person wrote for this turn: the SDK's object, the exception, the turn itself."""
    return turn.value if isinstance(turn, Verbatim) else turn.error if isinstance(turn, Broken) else turn


def _may_be_retried(answer: Response | Fault, provider: str) -> bool:
    """Whether an SDK may ask again after this answer: a fault, in place of the answer or of its whole body, or a status that is retried."""
    if isinstance(answer, Fault) or (answer.steps is not None and Fault in map(type, answer.steps)):
        return True
    if answer.status in _RETRIED or answer.status >= _SERVER_ERROR or (provider, answer.status) in RETRIED:
        return True
    return answer.status >= _CLIENT_ERROR and ("x-should-retry", "true") in answer.headers


def _own_fault(error: Exception, call: Call) -> FakeLLMFailure:
    """A fault of this library, as loud as any other failure."""
    failure = FakeLLMFailure(own_fault(call, error))
    failure.__cause__ = error
    return failure


def _always() -> bool:
    return True


def _passes(error: BaseException) -> bool:
    """Whether what came out of a test's function isn't its own error: a failure of ours, an interrupt, a cancellation."""
    return isinstance(error, (FakeLLMFailure, KeyboardInterrupt, SystemExit, GeneratorExit, *_cancelled()))


def _cancelled() -> tuple[type[BaseException], ...]:
    """The exceptions by which event loops cancel; those of loops that aren't loaded can't be raised."""
    found = ((sys.modules.get(module), name) for module, name in (("asyncio", "CancelledError"), ("trio", "Cancelled")))
    return tuple(getattr(module, name) for module, name in found if module is not None)


def _run(awaitable: Awaitable[Any]) -> Any:
    """Await it to its end on a loop of its own, in a thread of its own where a loop is running already."""
    import asyncio

    async def main() -> Any:
        return await awaitable

    def run() -> Any:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:  # leaves the thread's own loop alone
            return runner.run(main())

    if task() is None:
        return run()
    context = contextvars.copy_context()
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((context.run(run), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.append((None, error))

    thread = threading.Thread(target=work, name="fake_llm function turn")
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def _origin(exchange: Exchange) -> tuple[bytes, Any, Any]:
    """What a retry shares with the call that it repeats: the request, and the thread and task it comes from."""
    return exchange.asked.digest, threading.current_thread(), task()


def _digest(request: Request) -> bytes:
    """What tells a request from any other: the same for a retry."""
    body = request.body
    if body.startswith(b"--"):  # a form begins with its boundary, of which a retry has another
        body = without_boundary(request)
    return hashlib.blake2b(body, key=request.url.encode()[-64:]).digest()


def _default(options: Options) -> Turn | None:
    return None if options.default is None else _chat_default(options.default, "default=")


def _chat_default(value: Any, where: str) -> Turn:
    """The default as a turn; it is for chat alone, so that a vector there would never be sent."""
    turn = as_turn(value, where)
    if isinstance(turn, Reply) and any(isinstance(part, Embedding) for part in turn.parts):
        raise ScriptError(
            sentence(
                f"{where} got {clipped(repr(value), 80)}.",
                "A default answers chat; the vectors of embeddings are made up, or said by a rule.",
                'Write fake.when(operation="embeddings").reply(Embedding([…])).',
            )
        )
    return turn


def _added(left: Any, right: Any) -> Any:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return {
            key: left.get(key, 0) + right.get(key, 0) for key in (*left, *(key for key in right if key not in left))
        }
    return left + right


def _only_ours(group: BaseExceptionGroup[Any]) -> FakeLLMFailure | None:
    leaves = list(_leaves(group))
    ours = [leaf for leaf in leaves if isinstance(leaf, FakeLLMFailure)]
    return ours[0] if len(ours) == len(leaves) else None


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _leaves(inner)


def _shown_with(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that a traceback of this one shows: itself, what it groups, and what it came from."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is other for other in seen):
            continue
        seen.append(one)
        yield one
        waiting.append(one.__cause__ or (None if one.__suppress_context__ else one.__context__))
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)


def _stops(error: BaseException) -> bool:
    """Whether it stops a test on purpose: an interrupt, an exit, an outcome of pytest."""
    outcomes = sys.modules.get("_pytest.outcomes")
    ends = () if outcomes is None else (outcomes.OutcomeException, outcomes.Exit)
    return isinstance(error, (KeyboardInterrupt, SystemExit, *ends))


public(FakeLLM)
