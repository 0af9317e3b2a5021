// The fields of the form for a new crew, the request that it makes, and the same request as a command line. Pure.
// Test: test/tables/web/crew-commands.test.ts.
import type { CrewTaskBody, CrewUpBody } from '../../src/api/views/crew-up.ts'
import { COMMIT_GATES } from '../word-lists.ts'

export interface TaskForm {
  readonly id: string
  readonly text: string
  readonly acceptance: string
  readonly needs: string
}

export interface CrewForm {
  readonly crew: string
  readonly name: string
  readonly workers: string
  readonly agent: string
  readonly model: string
  readonly permissions: string
  readonly gate: string
  readonly budget: string
  readonly tasks: readonly TaskForm[]
}

export const emptyTask: TaskForm = { id: '', text: '', acceptance: '', needs: '' }
export const emptyForm: CrewForm = {
  crew: '',
  name: '',
  workers: '',
  agent: '',
  model: '',
  permissions: '',
  gate: '',
  budget: '',
  tasks: [],
}

/** the permission policies that members of all drivers can have */
export const CREW_POLICIES = ['ask', 'allow', 'deny'] as const

/** Returns the request. For an empty field the configured value applies. */
export function crewUpBody(form: CrewForm, cwd: string): CrewUpBody & { readonly tasks?: CrewTaskBody[] } {
  const { workers, budget, gate, permissions } = form
  const texts = (['crew', 'name', 'agent', 'model'] as const).flatMap((name) =>
    form[name].trim() === '' ? [] : [[name, form[name].trim()]],
  )
  const [gateWord, policy] = [COMMIT_GATES.find((word) => word === gate), CREW_POLICIES.find((word) => word === permissions)]
  return {
    cwd,
    ...(Object.fromEntries(texts) as Partial<Pick<CrewUpBody, 'crew' | 'name' | 'agent' | 'model'>>),
    ...(workers.trim() === '' ? {} : { workers: Number(workers) }),
    ...(gateWord === undefined ? {} : { gate: gateWord }),
    ...(policy === undefined ? {} : { permissions: policy }),
    ...(Number(budget) > 0 ? { limits: { budgetUsd: Number(budget) } } : {}),
    ...(form.tasks.length === 0 ? {} : { tasks: form.tasks.map(taskBody) }),
  }
}

function taskBody({ id, text, acceptance, needs }: TaskForm): CrewTaskBody {
  const ids = needs.split(/[\s,]+/).filter((need) => need !== '')
  return {
    text,
    ...(id.trim() === '' ? {} : { id: id.trim() }),
    ...(acceptance.trim() === '' ? {} : { acceptance }),
    ...(ids.length === 0 ? {} : { needs: ids }),
  }
}

/** Returns the words of the same command line. Tasks are named by a file that the user would have to write, `tasks.md`. */
export function crewUpCommand(form: CrewForm, cwd: string): string[] {
  const { crew, name, workers, agent, model, permissions, gate, limits, tasks } = crewUpBody(form, cwd)
  const flags = { name, workers, agent, model, permissions, gate, 'budget-usd': limits?.budgetUsd, tasks: tasks ? 'tasks.md' : undefined }
  return [
    ...['reeve', 'crew', 'up', '-d', '--cwd', cwd],
    ...Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}`, String(value)])),
    ...(crew === undefined ? [] : [crew]),
  ]
}
