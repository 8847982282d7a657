"""Again: what a run of a deployment was doing when it died is done once more, so that no night is lost to a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun, State

DEPLOYMENTS = ("nightly", "evaluate", "backfill")
AGAIN = (
    "again"  # the tag of a run in the place of another; what kills both, such as too little memory, would kill a third
)


def take_up(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:
    """When a run crashed and its worker lives to tell: another in its place. What a user ran is the user's."""
    from prefect.client.orchestration import get_client
    from prefect.states import Crashed

    if flow_run.deployment_id is not None:
        with get_client(sync_client=True) as client:
            _end_below(client, flow_run, Crashed(message="it was killed together with the run that it is part of"))
            _another(client, flow_run)


def take_up_dead_runs() -> list[str]:
    """The runs that died together with their worker, by name; others take their place. Call it while no worker runs.

    Nobody has told the server of their end: they would stay `Running`, and keep their concurrency slot until its lease
    runs out.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName, FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.states import Cancelled, Crashed

    with get_client(sync_client=True) as client:
        dead = client.read_flow_runs(
            deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=list(DEPLOYMENTS))),
            flow_run_filter=FlowRunFilter(state=_under_way()),
        )
        for run in dead:
            cancelled = run.state_type == StateType.CANCELLING
            message = "it was killed together with its worker"
            state: State[Any] = Cancelled(message=message) if cancelled else Crashed(message=message)
            _end_below(client, run, state)
            client.set_flow_run_state(run.id, state, force=True)  # a final state gives the slot back
            if not cancelled:
                _another(client, run)
    return [run.name for run in dead]


def _under_way() -> Any:
    from prefect.client.schemas.filters import FlowRunFilterState, FlowRunFilterStateType
    from prefect.client.schemas.objects import StateType

    states = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
    return FlowRunFilterState(type=FlowRunFilterStateType(any_=states))


def _end_below(client: SyncPrefectClient, run: FlowRun, state: State[Any]) -> None:
    """The runs that a dead run had started are as dead."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId

    parent = FlowRunFilterParentFlowRunId(any_=[run.id])
    below = client.read_flow_runs(flow_run_filter=FlowRunFilter(state=_under_way(), parent_flow_run_id=parent))
    for each in below:
        client.set_flow_run_state(each.id, state, force=True)


def _another(client: SyncPrefectClient, run: FlowRun) -> None:
    """A run of the same deployment with the same parameters, once; stages that are done are not done again."""
    if AGAIN in run.tags:
        return
    assert run.deployment_id is not None
    client.create_flow_run_from_deployment(
        run.deployment_id,
        parameters=run.parameters,
        tags=[*run.tags, AGAIN],
        idempotency_key=f"{AGAIN}-{run.id}",
    )
