// The JSON of the API: what an action would cost. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit.
// Test: test/e2e/lifecycle/stakes.test.ts.
import type { TaskState } from '../../kernel/model/crew/words.ts'
import type { Status } from '../../kernel/model/status.ts'

/** Open work: a model call, a tool call or a command that has no result yet. */
export interface InFlightView {
  /** the process of this open work */
  uuid: string
  /** a model call, a tool call with its input, or a command */
  what: string
  /** null: unknown */
  since: string | null
  /** whether the tool call may be repeated; null: it is not a tool call */
  effect: 'read' | 'idempotent' | 'once' | null
  /** the call has not started: it, or a call before it, waits for an answer or a resume, or waited when the process ended */
  unbegun?: true
  /**
   * what the action makes of it. `repeated`: a resume makes the call again; `asked again`: a resume asks the user again before the call;
   * `not run`: the call has not started, and never does; `interrupted`: it is cut off, and may or may not have had its effect; `finishes`:
   * a pause waits for its end; `stands still`: it is frozen; `goes on`: the action does not affect it
   */
  becomes: 'repeated' | 'asked again' | 'not run' | 'interrupted' | 'finishes' | 'stands still' | 'goes on'
}

/** What an action would cost: what is lost, what is kept, and what happens to others. */
export interface StakesView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  status: Status
  action: 'stop' | 'kill' | 'pause' | 'remove' | 'resume'
  subtree: boolean
  /** why the action would be refused; null: it would not */
  refused: string | null
  /** the open work of the process, and of those that the action ends or pauses */
  inFlight: InFlightView[]
  /** files of its worktree that no record has, and their lines; null: no worktree, not asked for, or not known */
  unrecorded: { files: number; added: number; removed: number } | null
  /** branches with commits that no other branch has */
  unmerged: { branch: string; commits: number }[]
  /** the number of queued messages */
  queue: number
  /** the number of queued messages that no later resume delivers */
  messagesLost: number
  /** the living processes below it that go on, and those that end; at most 100 each */
  children: {
    goOn: { uuid: string; pid: number; name: string | null }[]
    end: { uuid: string; pid: number; name: string | null }[]
  }
  /** the task of a crew member; null: none */
  task: {
    id: string
    /** its state right after the action */
    becomes: TaskState
    /** the member that has it then */
    worker: string | null
  } | null
  /** the compose run that the process belongs to; null: none */
  run: {
    /** the nodes that can no longer start */
    blocks: string[]
  } | null
  /** `comes back`: the action ends it, and a restart policy starts it again; `stays`: it remains ended, or the action does not end it */
  restart: 'comes back' | 'stays'
  /** what is left after the action */
  kept: {
    /** the last whole step of the history that stays; null: no steps */
    step: number | null
    /** true: it can continue from there */
    resumable: boolean
    /** the directory of its worktree, which stays; null: none stays */
    worktree: string | null
    /** the ref that gets the uncommitted files of a removed worktree, unless another ref has them */
    salvage: string | null
  }
  /** what else follows, and what is not known, as sentences */
  notes: string[]
}
