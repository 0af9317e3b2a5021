// Supervisors of a reeve.yaml: named families of agents and commands, which `reeve run --supervisor NAME` starts.
// Owns the shape of `supervisors:`. A project's file may name programs here, as they are started only when a person says so.
// Test: test/tables/config-supervisors.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../kernel/errors.ts'
import type { Limits } from '../kernel/types.ts'
import type { OnComplete, RestartAsked, RestartWord, SupervisorAsked } from '../kernel/supervision.ts'
import { fileLimitsRule } from './limit-rules.ts'
import { childIdRule, defined, fileOnComplete, fileRestartRule, fileSupervisor, intensityAsked } from './restart.ts'

/** children of one supervisor, and supervisors of one file */
const MAX = 100

const text = z.string().min(1).max(10_000)
const child = z.strictObject({
  id: childIdRule,
  agent: text.optional(),
  command: z.array(z.string().regex(/^[^\0]*$/, 'must not contain NUL')).min(1).max(1_000).optional(),
  supervisor: text.optional(),
  intent: z.string().max(100_000).optional(),
  restart: fileRestartRule.optional(),
  onComplete: fileOnComplete.optional(),
  name: text.optional(),
  model: text.optional(),
  cwd: text.optional(),
  interactive: z.boolean().optional(),
  worktree: z.boolean().optional(),
  permissions: z.enum(['ask', 'allow', 'deny']).optional(),
  limits: fileLimitsRule.optional(),
}).superRefine(({ agent, command, supervisor, intent }, context) => {
  const given = Object.entries({ agent, command, supervisor }).filter(([, value]) => value !== undefined).map(([key]) => key)
  if (given.length > 1) context.addIssue(`it is ${given.join(' and ')} at once: one of them`)
  if (intent !== undefined && (command || supervisor)) context.addIssue('only an agent has an intent')
})

const supervisor = z.strictObject({
  ...fileSupervisor,
  limits: fileLimitsRule.optional(),
  children: z.array(child).max(MAX).default([]).superRefine((children, context) => {
    const twice = children.find(({ id }, index) => children.findIndex((other) => other.id === id) < index)
    if (twice) context.addIssue(`the id ${twice.id} is there twice`)
  }),
})

export const supervisorsRule = z.record(childIdRule, supervisor).refine((all) => Object.keys(all).length <= MAX, `at most ${MAX} supervisors`)
export const SUPERVISOR_KEYS = Object.keys(supervisor.shape)
export const CHILD_KEYS = Object.keys(child.shape)

export type Supervisors = z.infer<typeof supervisorsRule>

/** A child as it is to be spawned. */
export interface ChildFile {
  readonly childId: string
  /** a supervisor of the same file */
  readonly supervisor?: string
  readonly argv?: string[]
  readonly agent?: string
  readonly intent?: string
  readonly restart?: RestartWord | RestartAsked
  readonly name?: string
  readonly model?: string
  readonly cwd: string
  readonly interactive?: boolean
  readonly worktree?: boolean
  readonly permissions?: 'ask' | 'allow' | 'deny'
  readonly limits?: Limits
}

export interface SupervisorFile {
  readonly asked: SupervisorAsked
  readonly limits: Limits | undefined
  readonly children: readonly ChildFile[]
}

/** Errors: AGENT_INVALID where there is none of that name. */
export function supervisorNamed(all: Supervisors, name: string, file: string): SupervisorFile {
  const found = Object.hasOwn(all, name) ? all[name] : undefined
  if (!found) {
    const names = Object.keys(all)
    throw new KernelError('AGENT_INVALID', names.length === 0 ? `${file} has no supervisors` : `there is no supervisor \`${name}\` in ${file}; there are ${names.join(', ')}`, undefined, 'Write it below `supervisors:` in reeve.yaml; docs/supervision.md says how.')
  }
  const { children, limits: said, strategy, ...intensity } = found
  return {
    asked: { ...defined({ strategy }), ...asked(intensity) },
    limits: said,
    children: children.map(({ id, command, cwd, restart, onComplete, ...rest }) => ({
      ...defined(rest), childId: id, cwd: resolve(dirname(file), cwd ?? '.'), ...defined({ argv: command, restart: withOnComplete(restart, onComplete) }),
    })),
  }
}

function asked(intensity: Parameters<typeof intensityAsked>[0]): SupervisorAsked {
  const { backoff, ...rest } = intensityAsked(intensity)
  return { ...rest, ...(backoff ? { backoff } : {}) }
}

function withOnComplete(restart: RestartWord | RestartAsked | undefined, onComplete: OnComplete | undefined): RestartWord | RestartAsked | undefined {
  if (onComplete === undefined) return restart
  return { ...(typeof restart === 'string' ? { type: restart } : (restart ?? { type: 'transient' })), onComplete }
}
