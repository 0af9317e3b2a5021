// Asks before a process is stopped or killed. First the daemon reports what is lost, what is kept, and what happens to other processes; the
// buttons work only after that. Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import type { StakesView } from '../../src/api/views/stakes.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount } from '../../src/faces/format.ts'
import { endProcess, pauseOrResume, STOP_GRACE_MS } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { commandName, nameOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { Dialog } from './dialog.tsx'
import { HoldButton } from '../parts/hold-button.tsx'

const opened = signal<{ readonly row: RowView; readonly action: 'stop' | 'kill' } | null>(null)
const withSubtree = signal(false)

interface Known {
  /** the process, the action and the choice of the subtree that the daemon was asked about */
  readonly about: string
  /** a string: why nothing is known */
  readonly stakes: StakesView | string
}

/** the last answer; null: none since the dialog opened */
const known = signal<Known | null>(null)
/** the longest wait for the daemon's answer, in ms; without one the dialog shows that nothing is known */
const STAKES_MS = 10_000

/** Shows what the end of a process would cost. */
export function openEnd(row: RowView, action: 'stop' | 'kill'): void {
  withSubtree.value = false
  known.value = null
  opened.value = { row, action }
}

function close(): void {
  opened.value = null
}

export function EndDialog(): JSX.Element | null {
  const { row, action } = opened.value ?? {}
  const subtree = withSubtree.value
  const about = `${row?.uuid} ${action} ${subtree}`
  useEffect(() => {
    if (!row || !action) return
    let isAwaited = true
    const take = (stakes: StakesView | string): void => {
      if (isAwaited) known.value = { about, stakes }
    }
    const path = `/v1/processes/${row.uuid}/stakes?action=${action}&subtree=${subtree ? 1 : 0}`
    callApi<StakesView>(path, { signal: AbortSignal.timeout(STAKES_MS) }).then(take, (error: unknown) =>
      take(error instanceof Error ? error.message : String(error)),
    )
    return () => {
      isAwaited = false
    }
  }, [opened.value, subtree])
  if (!row || !action) return null
  const stakes = known.value?.about === about ? known.value.stakes : null
  const below = row.sub.live - (row.endedAt === null ? 1 : 0)
  const end = (how: 'stop' | 'kill'): void => {
    close()
    void endProcess(row.uuid, how, subtree)
  }
  return (
    <Dialog
      title={`${action === 'stop' ? 'Stop' : 'Kill'} ${nameOf(row)}`}
      onClose={close}
      onConfirm={stakes === null ? undefined : () => end(action)}
    >
      {stakes === null ? (
        <p class="quiet">The daemon looks at what would be lost.</p>
      ) : typeof stakes === 'string' ? (
        <p class="problem">What would be lost is not known: {stakes}</p>
      ) : (
        <Stakes view={stakes} />
      )}
      {below > 0 ? (
        <label>
          <input type="checkbox" checked={subtree} onChange={(event) => (withSubtree.value = event.currentTarget.checked)} /> with the{' '}
          {formatCount(below, 'process')} below it
        </label>
      ) : null}
      <pre class="command">{endCommand(row, action, subtree)}</pre>
      <p class="buttons">
        {action === 'stop' ? (
          <HoldButton onDo={() => end('stop')} disabled={stakes === null}>
            Stop, with time to clean up <kbd>y</kbd>
          </HoldButton>
        ) : null}
        <HoldButton onDo={() => end('kill')} disabled={stakes === null}>
          Kill now {action === 'kill' ? <kbd>y</kbd> : null}
        </HoldButton>
        {row.status === 'suspended' ? null : (
          <button
            type="button"
            onClick={() => {
              close()
              void pauseOrResume(row)
            }}
          >
            Pause instead
          </button>
        )}
      </p>
    </Dialog>
  )
}

/** The command line that does the same. Only `kill` can end a whole tree. */
function endCommand(row: RowView, action: 'stop' | 'kill', subtree: boolean): string {
  const name = commandName(row)
  if (action === 'kill') return `reeve kill -s KILL ${subtree ? '--subtree ' : ''}${name}`
  return subtree ? `reeve kill --grace ${STOP_GRACE_MS / 1_000}s --subtree ${name}` : `reeve stop ${name}`
}

function Stakes({ view }: { readonly view: StakesView }): JSX.Element {
  const lost = [
    ...view.inFlight.map(({ what, becomes }) => `${what}: ${becomes}`),
    ...(view.unrecorded
      ? [`${formatCount(view.unrecorded.files, 'file')} without a record (+${view.unrecorded.added} −${view.unrecorded.removed})`]
      : []),
    ...(view.messagesLost > 0 ? [formatCount(view.messagesLost, 'waiting message')] : []),
  ]
  const { step, resumable, worktree } = view.kept
  const kept = [
    ...(step === null ? [] : [`the history to step ${step}${resumable ? '; it can be resumed from there' : ''}`]),
    ...(worktree === null ? [] : [`the files in ${worktree}`]),
    ...view.unmerged.map(({ branch, commits }) => `${formatCount(commits, 'commit')} on ${branch}`),
  ]
  const others = [
    ...(view.children.goOn.length > 0 ? [`${names(view.children.goOn)}: ${view.children.goOn.length === 1 ? 'goes' : 'go'} on`] : []),
    ...(view.children.end.length > 0 ? [`${names(view.children.end)}: ${view.children.end.length === 1 ? 'ends' : 'end'} too`] : []),
    ...(view.task ? [`task ${view.task.id}: ${view.task.becomes}${view.task.worker === null ? '' : `, by ${view.task.worker}`}`] : []),
    ...(view.run && view.run.blocks.length > 0 ? [`cannot start any more: ${view.run.blocks.join(', ')}`] : []),
    ...(view.restart === 'comes back' ? ['its restart policy starts it again'] : []),
  ]
  return (
    <div class="stakes">
      {view.refused === null ? null : <p class="problem">{visibleText(view.refused)}</p>}
      <Part title="What is lost" lines={lost} none="nothing that is known" />
      <Part title="What is kept" lines={kept} none="nothing" />
      <Part title="Others" lines={[...others, ...view.notes]} none="nobody" />
    </div>
  )
}

function Part({ title, lines, none }: { readonly title: string; readonly lines: readonly string[]; readonly none: string }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      {lines.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <ul>
          {lines.map((line) => (
            <li key={line}>{visibleText(line)}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

function names(processes: readonly { readonly name: string | null; readonly pid: number }[]): string {
  return processes.map((process) => nameOf(process, 'PID')).join(', ')
}
