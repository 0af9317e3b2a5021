// The limits of a process and of those above it, with how much of each is used. Fields change the process's own limits or set new ones. A
// limit cannot be removed: the daemon has no such request. Test: test/e2e/web/process/tabs.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { LimitUseView, ProcessView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { isPending, perform } from '../actions.ts'
import { readProcess } from '../session-api.ts'
import { budgetsAbove } from '../../src/faces/budgets.ts'
import { commandName, nameOf, titleOf } from '../../src/faces/process-names.ts'
import { useLive } from '../live.ts'
import { showNotice } from '../notice.ts'
import { limitValue, LIMIT_UNITS, type Limit } from './limit-units.ts'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import { isPossible, runAction } from '../row-actions.ts'
import { rows, rowSignal } from '../rows.ts'
import { isStale, may } from '../connection-state.ts'

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
      ) : null}
      <BudgetsAbove row={row} />
      <ChangeNote row={row} />
      {limitUse.length === 0 ? null : (
        <table class="limits">
          <thead>
            <tr>
              <th>limit</th>
              <th>used</th>
              <th>share</th>
              <th>at the limit</th>
              <th>of</th>
              <th>change</th>
            </tr>
          </thead>
          <tbody>
            {limitUse.map((use) => (
              <LimitRow key={`${use.limit} ${use.scope}`} row={row} use={use} />
            ))}
          </tbody>
        </table>
      )}
      <NewLimit row={row} known={limitUse.filter((use) => isOwn(row, use)).map(({ limit }) => limit)} />
      <p class="quiet">{METERING[metering]}</p>
    </section>
  )
}

/** The processes above whose budgets also limit it, with what open calls may add. */
function BudgetsAbove({ row }: { readonly row: RowView }): JSX.Element | null {
  const owners = budgetsAbove(row, rows)
  if (owners.length === 0) return null
  return (
    <ul class="budgets-above" aria-label="Budgets above">
      {owners.map((owner) => (
        <BudgetLine key={owner.uuid} owner={owner} />
      ))}
    </ul>
  )
}

function BudgetLine({ owner }: { readonly owner: RowView }): JSX.Element {
  const row = rowSignal(owner.uuid).value ?? owner
  return (
    <li>
      <span>
        <a href={`/p/${row.uuid}/limits`}>{titleOf(row)}</a> pays for it, too:
      </span>
      <BudgetBar row={row} />
      {row.status === 'suspended' && isPossible('raiseBudget', row) ? (
        <button type="button" onClick={() => runAction('raiseBudget', [row])}>
          Raise the budget …
        </button>
      ) : null}
    </li>
  )
}

const isOwn = (row: RowView, { scope }: LimitUseView): boolean => scope === null || scope === row.uuid
const mayChange = (row: RowView): boolean => row.endedAt === null && may('steer')

/** When limits can be changed, and what else a change does. */
function ChangeNote({ row }: { readonly row: RowView }): JSX.Element | null {
  if (!mayChange(row)) return null
  return (
    <p class="quiet">
      {row.status === 'suspended'
        ? 'A change of a limit resumes it, as far as there is room then.'
        : 'A running process keeps its limits. Pause it to change them.'}
    </p>
  )
}

const METERING: Readonly<Record<ProcessView['metering'], string>> = {
  call: 'Budgets are checked before each model call.',
  report: 'Budgets are checked after each report of the agent, so it may exceed them.',
  none: 'Its model calls are not counted.',
}

function LimitRow({ row, use }: { readonly row: RowView; readonly use: LimitUseView }): JSX.Element {
  const { name, format } = LIMIT_UNITS[use.limit]
  const share = use.of > 0 ? Math.min(1, use.used / use.of) : 1
  const owner = use.scope === null ? undefined : rows.get(use.scope)
  const own = isOwn(row, use)
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
        {own ? 'itself' : <a href={`/p/${use.scope}/limits`}>{owner ? nameOf(owner) : 'a process above it'}</a>}
        {use.source === 'config' ? <span class="quiet"> (config.yaml)</span> : null}
      </td>
      <td>{own && mayChange(row) ? <ChangeLimit row={row} limit={use.limit} /> : null}</td>
    </tr>
  )
}

interface ChangeLimitProps {
  readonly row: RowView
  readonly limit: Limit
  /** true: the process does not have the limit yet */
  readonly isNew?: boolean
}

/** A field that adds to a limit or sets it, with the command that does the same, if there is one. */
function ChangeLimit({ row, limit, isNew = false }: ChangeLimitProps): JSX.Element {
  const [text, setText] = useState('')
  const [how, setHow] = useState<'add' | 'set'>(isNew ? 'set' : 'add')
  const { name, flag, unit } = LIMIT_UNITS[limit]
  const amount = Number(text)
  const isValid = text !== '' && Number.isFinite(amount) && amount > 0
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const value = { [limit]: limitValue(limit, amount) }
    if (!isValid || !(await perform(row.uuid, 'resume', how === 'add' ? { raise: value } : { limits: value }))) return
    setText('')
    showNotice(`changed the limit of ${name}; ${titleOf(row)} was resumed`)
  }
  return (
    <form class="change-limit" onSubmit={(event) => void submit(event)}>
      {isNew ? null : (
        <select
          aria-label={`How ${name} changes`}
          value={how}
          onChange={(event) => setHow(event.currentTarget.value === 'add' ? 'add' : 'set')}
        >
          <option value="add">add</option>
          <option value="set">set to</option>
        </select>
      )}{' '}
      <input
        aria-label={`${how === 'add' ? 'Add to' : 'Set'} ${name}${unit[0] === '' ? '' : `, in ${unit[0]}`}`}
        inputMode="decimal"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />{' '}
      {unit[0]}
      <button type="submit" disabled={!isValid || row.status !== 'suspended' || isStale.value || isPending(row.uuid, 'resume')}>
        {how === 'add' ? 'Add' : 'Set'}
      </button>
      {isValid && flag !== null ? (
        <code>{shellLine(['reeve', 'resume', commandName(row), flag, `${how === 'add' ? '+' : ''}${text}${unit[1]}`])}</code>
      ) : null}
    </form>
  )
}

/** Sets a limit that the process does not have. */
function NewLimit({ row, known }: { readonly row: RowView; readonly known: readonly Limit[] }): JSX.Element | null {
  const others = (Object.keys(LIMIT_UNITS) as Limit[]).filter((limit) => !known.includes(limit))
  const [chosen, choose] = useState<Limit>('budgetUsd')
  const limit = others.includes(chosen) ? chosen : others[0]
  if (!mayChange(row) || limit === undefined) return null
  return (
    <div class="new-limit">
      <label>
        New limit{' '}
        <select value={limit} onChange={(event) => choose(others.find((one) => one === event.currentTarget.value) ?? limit)}>
          {others.map((one) => (
            <option key={one} value={one}>
              {LIMIT_UNITS[one].name}
            </option>
          ))}
        </select>
      </label>
      <ChangeLimit key={limit} row={row} limit={limit} isNew />
    </div>
  )
}
