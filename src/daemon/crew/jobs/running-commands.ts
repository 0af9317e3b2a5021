// Keeps track of the jobs of crews that run shell commands, and aborts a job when its result is no longer needed. The caller
// starts the commands. Test: test/processes/crew/verify.test.ts.
import type { StoredFact } from '../../../kernel/model/facts.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { MemberId, TaskId } from '../../../kernel/model/crew/words.ts'
import type { Job } from '../../../kernel/model/crew/facts.ts'

/** The reason of an abort: the result of the job is no longer needed, or will be requested again. */
export class ObsoleteJobError extends Error {}

interface RunningCommand {
  readonly crew: Uuid
  readonly member: MemberId
  readonly task: TaskId | null
  readonly controller: AbortController
  readonly done: Promise<unknown>
}

/** Facts after which the command of their task is no longer needed. */
const TASK_END_FACTS: ReadonlySet<string> = new Set(['task.requeued', 'task.done', 'task.failed', 'task.cancelled'])
/** Facts after which the crew accepts no results. */
const CREW_END_FACTS: ReadonlySet<string> = new Set(['process.exited', 'process.reaped'])

export class RunningCommands {
  readonly #commands = new Set<RunningCommand>()
  #isStopped = false

  /** Runs `work` with an abort signal. Errors: `ObsoleteJobError` if the result is no longer needed. */
  async runAbortable<T>(crew: Uuid, { member, ...job }: Job, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isStopped) throw new ObsoleteJobError('the daemon is stopping')
    const controller = new AbortController()
    const done = work(controller.signal)
    // Only the caller gets an error. `stop` just waits for the end.
    const running: RunningCommand = { crew, member, task: 'task' in job ? job.task : null, controller, done: done.catch(() => undefined) }
    this.#commands.add(running)
    try {
      return await done
    } finally {
      this.#commands.delete(running)
    }
  }

  /** Aborts the jobs that these facts make obsolete. */
  abortObsolete(facts: readonly StoredFact[]): void {
    if (this.#commands.size === 0) return
    for (const { uuid, body } of facts) {
      for (const command of this.#commands) {
        if (command.crew !== uuid) continue
        const isObsolete =
          CREW_END_FACTS.has(body.type) ||
          (TASK_END_FACTS.has(body.type) && 'task' in body && body.task === command.task) ||
          ((body.type === 'crew.left' || body.type === 'crew.replaced') && body.member === command.member)
        if (isObsolete) command.controller.abort(new ObsoleteJobError(`${body.type}: the result is no longer needed`))
      }
    }
  }

  /** Aborts all jobs and waits for their ends. Later jobs are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const command of this.#commands) command.controller.abort(new ObsoleteJobError('the daemon stops'))
    await Promise.all([...this.#commands].map(({ done }) => done))
  }
}
