// The limits of a process and of those above it, how much of each is used, and a field that adds to a limit of its own.
// Test: test/e2e/web/process/tabs.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { LimitUseView, ProcessView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatBytes, formatElapsed, formatLimitUsd, formatTokens } from '../../src/faces/format.ts'
import { isAsked, perform, readProcess } from '../actions.ts'
import { commandName } from '../../src/faces/process-names.ts'
import { useLive } from '../live.ts'
import { rows } from '../rows.ts'
import { isStale, may } from '../store.ts'

type Limit = LimitUseView['limit']

interface LimitUnit {
  readonly name: string
  readonly flag: string
  /** the unit of the field, for the user and for the command line */
  readonly unit: readonly [name: string, suffix: string]
  /** how much of the limit is one of the unit */
  readonly size: number
  readonly format: (value: number) => string
}

const count = (name: string, flag: string): LimitUnit => ({ name, flag, unit: ['', ''], size: 1, format: formatTokens })
const time = (name: string, flag: string): LimitUnit => ({ name, flag, unit: ['minutes', 'm'], size: 60_000, format: formatElapsed })
const bytes = (name: string, flag: string): LimitUnit => ({ name, flag, unit: ['MiB', 'MiB'], size: 1_048_576, format: formatBytes })

const UNITS: Partial<Readonly<Record<Limit, LimitUnit>>> = {
  maxSteps: count('steps', '--max-steps'),
  maxTurns: count('turns', '--max-turns'),
  maxToolCalls: count('tool calls', '--max-tool-calls'),
  maxChildren: count('living children', '--max-children'),
  maxDepth: count('levels below it', '--max-depth'),
  maxMessages: count('messages', '--max-messages'),
  budgetTokens: count('tokens', '--budget-tokens'),
  budgetUsd: {
    name: 'money',
    flag: '--budget-usd',
    unit: ['USD', ''],
    size: 1,
    format: (value) => formatLimitUsd(Math.round(value * 100) / 100),
  },
  timeoutMs: time('active time', '--timeout'),
  cpuTimeMs: time('CPU time', '--cpu-time'),
  memoryBytes: bytes('memory', '--memory'),
  outputBytes: bytes('output', '--max-output'),
}

function unitOf(limit: Limit): LimitUnit {
  return UNITS[limit] ?? count(limit, `--${limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
}

export function LimitsTab({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive<ProcessView>(row.uuid, 'limits', () => readProcess(row.uuid))
  if (value.value === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The limits are being read.'}</p>
  const { limitUse, metering } = value.value
  return (
    <section class="process-tab" aria-label="Limits">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {limitUse.length === 0 ? (
        <p class="quiet">
          It has no limits, and none is above it. A resume can set some: <code>reeve resume {commandName(row)} --budget-usd 5</code>
        </p>
      ) : (
        <table class="limits">
          <thead>
            <tr>
              <th>limit</th>
              <th>used</th>
              <th>share</th>
              <th>at the limit</th>
              <th>of</th>
              <th>add</th>
            </tr>
          </thead>
          <tbody>
            {limitUse.map((use) => (
              <LimitRow key={`${use.limit} ${use.scope}`} row={row} use={use} />
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">{METERING[metering]}</p>
    </section>
  )
}

const METERING: Readonly<Record<ProcessView['metering'], string>> = {
  call: 'Budgets are checked before each model call.',
  report: 'Budgets are checked after each report of the agent, so it may exceed them.',
  none: 'Its model calls are not counted.',
}

function LimitRow({ row, use }: { readonly row: RowView; readonly use: LimitUseView }): JSX.Element {
  const { name, format } = unitOf(use.limit)
  const share = use.of > 0 ? Math.min(1, use.used / use.of) : 1
  const owner = use.scope === null ? undefined : rows.get(use.scope)
  const isOwn = use.scope === null || use.scope === row.uuid
  return (
    <tr data-limit={use.limit}>
      <th scope="row">{name}</th>
      <td class="number">
        {format(use.used)} of {format(use.of)}
      </td>
      <td>
        <meter value={share} max={1} low={0.8} high={0.99} optimum={0} aria-label={`${name} used`} /> {Math.round(share * 100)} %
      </td>
      <td>{use.action === 'refuse' ? 'more is refused' : use.action === 'suspend' ? 'it is suspended' : 'it ends'}</td>
      <td>
        {isOwn ? 'itself' : <a href={`/p/${use.scope}/limits`}>{owner?.name ?? 'a process above it'}</a>}
        {use.source === 'config' ? <span class="quiet"> (config.yaml)</span> : null}
      </td>
      <td>{isOwn && row.endedAt === null && may('steer') ? <AddTo row={row} limit={use.limit} /> : null}</td>
    </tr>
  )
}

/** A field that adds to a limit, with the command that does the same. */
function AddTo({ row, limit }: { readonly row: RowView; readonly limit: Limit }): JSX.Element {
  const [text, setText] = useState('')
  const { name, flag, unit, size } = unitOf(limit)
  const amount = Number(text)
  const isValid = text !== '' && Number.isFinite(amount) && amount > 0
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isValid && (await perform(row.uuid, 'resume', { raise: { [limit]: Math.round(amount * size * 1e6) / 1e6 } }))) setText('')
  }
  return (
    <form class="add-limit" onSubmit={(event) => void submit(event)}>
      <input
        aria-label={`Add to ${name}${unit[0] === '' ? '' : `, in ${unit[0]}`}`}
        inputMode="decimal"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />{' '}
      {unit[0]}
      <button type="submit" disabled={!isValid || isStale.value || isAsked(row.uuid, 'resume')}>
        Add
      </button>
      {isValid ? <code>{shellLine(['reeve', 'resume', commandName(row), flag, `+${text}${unit[1]}`])}</code> : null}
    </form>
  )
}
