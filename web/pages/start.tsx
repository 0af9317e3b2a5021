// The form that starts an agent in a directory where processes have worked, with the command line that does the same. Must have no field
// for a program, because the daemon refuses a program that the page names. Test: test/e2e/web/start.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { AgentView } from '../../src/api/views/agents.ts'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { draftOf, fieldsOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { WithPlaces } from '../parts/forms/places.tsx'
import { navigate } from '../router.ts'
import { isStale, may } from '../connection-state.ts'

const POLICIES = ['ask', 'allow', 'deny', 'plan'] as const
const EMPTY = { agent: '', intent: '', name: '', model: '', permissions: '', budget: '', hasWorktree: false }

/** the key of the form's draft, which is JSON */
const DRAFT = 'start'
const isSending = signal(false)

type Fields = typeof EMPTY

function setField<K extends keyof Fields>(name: K, value: Fields[K]): void {
  keepDraft(DRAFT, JSON.stringify({ ...fieldsOf(draftOf(DRAFT), EMPTY), [name]: value }))
}

export function StartPage(): JSX.Element {
  if (!may('start')) return <p class="quiet">This session may not start agents.</p>
  return (
    <WithPlaces command={['reeve', 'run', 'fix the failing test']}>
      {({ dirs, agents, chosen, choose }) => <StartForm dirs={dirs} agents={agents} cwd={chosen} onDirectory={choose} />}
    </WithPlaces>
  )
}

interface StartProps {
  readonly dirs: readonly string[]
  readonly cwd: string
  readonly agents: readonly AgentView[]
  readonly onDirectory: (dir: string) => void
}

function StartForm({ dirs, cwd, agents, onDirectory }: StartProps): JSX.Element {
  const draft = draftOf(DRAFT)
  const fields = fieldsOf(draft, EMPTY)
  const body = bodyOf(fields, cwd)
  const start = async (event: Event): Promise<void> => {
    event.preventDefault()
    isSending.value = true
    try {
      const { process } = await callApi<{ process: ProcessView }>('/v1/processes', { method: 'POST', body })
      failure.value = null
      removeSentDraft(DRAFT, draft)
      navigate(`/p/${process.uuid}`)
    } catch (error) {
      failure.value = failureOf(error, 'Look at the list before you start it again.')
    } finally {
      isSending.value = false
    }
  }
  return (
    <section class="start" aria-label="Start an agent">
      <h2>Start an agent</h2>
      <form class="fork-form" onSubmit={(event) => void start(event)}>
        <label>
          What it should do
          <textarea rows={4} required value={fields.intent} onInput={(event) => setField('intent', event.currentTarget.value)} />
        </label>
        <StartFields fields={fields} dirs={dirs} cwd={cwd} agents={agents} onDirectory={onDirectory} />
        <CommandLine words={commandOf(body)} />
        <p class="buttons">
          <button type="submit" class="primary" disabled={isSending.value || isStale.value}>
            {isSending.value ? 'Starting …' : 'Start'}
          </button>
        </p>
      </form>
    </section>
  )
}

function StartFields({ fields, dirs, cwd, agents, onDirectory }: StartProps & { readonly fields: Fields }): JSX.Element {
  const { agent, name, model, permissions, budget, hasWorktree } = fields
  const chosen = agents.find((one) => one.name === (agent === '' ? 'default' : agent))
  return (
    <>
      <div class="fork-columns">
        <label>
          Agent
          <select value={agent} onChange={(event) => setField('agent', event.currentTarget.value)}>
            <option value="">default</option>
            {agents
              .filter((one) => one.name !== 'default')
              .map((one) => (
                <option key={one.name} value={one.name} disabled={!one.usable}>
                  {one.name}
                  {one.usable ? '' : ' (cannot start)'}
                </option>
              ))}
          </select>
        </label>
        <label>
          Directory
          <select class="directory" value={cwd} onChange={(event) => onDirectory(event.currentTarget.value)}>
            {dirs.map((dir) => (
              <option key={dir}>{dir}</option>
            ))}
          </select>
        </label>
        <label>
          Permissions
          <select value={permissions} onChange={(event) => setField('permissions', event.currentTarget.value)}>
            <option value="">as configured</option>
            {POLICIES.map((word) => (
              <option key={word}>{word}</option>
            ))}
          </select>
        </label>
        <label>
          Model
          <input value={model} placeholder={chosen?.usesModel ?? ''} onInput={(event) => setField('model', event.currentTarget.value)} />
        </label>
        <label>
          Name
          <input value={name} onInput={(event) => setField('name', event.currentTarget.value)} />
        </label>
        <label>
          Budget in USD
          <input
            type="number"
            min="0"
            step="any"
            value={budget}
            placeholder="as configured"
            onInput={(event) => setField('budget', event.currentTarget.value)}
          />
        </label>
      </div>
      <label class="inline">
        <input type="checkbox" checked={hasWorktree} onChange={(event) => setField('hasWorktree', event.currentTarget.checked)} /> in a git
        worktree of its own
      </label>
      {chosen?.usable === false ? <p class="quiet">It cannot start: {chosen.reason}</p> : null}
    </>
  )
}

function bodyOf({ agent, intent, name, model, permissions, budget, hasWorktree }: Fields, cwd: string): SpawnBody {
  const policy = POLICIES.find((word) => word === permissions)
  return {
    cwd,
    intent,
    ...(agent === '' ? {} : { agent }),
    ...(name === '' ? {} : { name }),
    ...(model === '' ? {} : { model }),
    ...(policy === undefined ? {} : { permissions: policy }),
    ...(Number(budget) > 0 ? { limits: { budgetUsd: Number(budget) } } : {}),
    ...(hasWorktree ? { worktree: true } : {}),
  }
}

function commandOf({ cwd, agent, name, model, permissions, limits, worktree, intent = '' }: SpawnBody): string[] {
  return [
    ...['reeve', 'run', '-d', '--cwd', cwd],
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(name === undefined ? [] : ['--name', name]),
    ...(model === undefined ? [] : ['--model', model]),
    ...(permissions === undefined ? [] : ['--permissions', permissions]),
    ...(limits?.budgetUsd === undefined ? [] : ['--budget-usd', String(limits.budgetUsd)]),
    ...(worktree === true ? ['--worktree'] : []),
    intent,
  ]
}
