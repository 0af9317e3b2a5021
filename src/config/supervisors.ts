// Parses `supervisors:` of a reeve.yaml: named groups of agents and commands, which `reeve run --supervisor NAME` starts. The file of a
// project may name programs here, because only an explicit command of the user starts them.
// Test: test/tables/config/supervisors.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../kernel/model/errors.ts'
import type { OnComplete, RestartConfig, RestartWord, SupervisorConfig } from '../kernel/model/supervision.ts'
import { fileLimitsRule } from './limit-rules.ts'
import { childIdRule, onCompleteRule, fileRestartRule, fileSupervisorShape, toIntensity } from './restart-rules.ts'
import { type Limits, PERMISSION_POLICIES, type PermissionPolicy } from '../kernel/model/words.ts'
import { withoutUndefined } from '../kernel/util/without-undefined.ts'

/** maximum number of children of one supervisor, and of supervisors in one file */
const MAX_ENTRIES = 100

const text = z.string().min(1).max(10_000)
const child = z
  .strictObject({
    id: childIdRule,
    agent: text.optional(),
    command: z
      .array(z.string().regex(/^[^\0]*$/, 'must not contain NUL'))
      .min(1)
      .max(1_000)
      .optional(),
    supervisor: text.optional(),
    intent: z.string().max(100_000).optional(),
    restart: fileRestartRule.optional(),
    onComplete: onCompleteRule.optional(),
    name: text.optional(),
    model: text.optional(),
    cwd: text.optional(),
    interactive: z.boolean().optional(),
    worktree: z.boolean().optional(),
    permissions: z.enum(PERMISSION_POLICIES).optional(),
    limits: fileLimitsRule.optional(),
  })
  .superRefine(({ agent, command, supervisor, intent }, context) => {
    const given = Object.entries({ agent, command, supervisor })
      .filter(([, value]) => value !== undefined)
      .map(([key]) => key)
    if (given.length > 1) context.addIssue(`it is ${given.join(' and ')} at once: give only one of them`)
    if (intent !== undefined && (command || supervisor)) context.addIssue('only an agent has an intent')
  })

const supervisor = z.strictObject({
  ...fileSupervisorShape,
  limits: fileLimitsRule.optional(),
  children: z
    .array(child)
    .max(MAX_ENTRIES)
    .default([])
    .superRefine((children, context) => {
      const duplicate = children.find(({ id }, index) => children.findIndex((other) => other.id === id) < index)
      if (duplicate) context.addIssue(`the id ${duplicate.id} occurs twice`)
    }),
})

export const supervisorsRule = z
  .record(childIdRule, supervisor)
  .refine((all) => Object.keys(all).length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} supervisors`)
export const SUPERVISOR_KEYS = Object.keys(supervisor.shape)
export const CHILD_KEYS = Object.keys(child.shape)

export type Supervisors = z.infer<typeof supervisorsRule>

/** A child in the file. Its paths are absolute. */
export interface FileChild {
  readonly childId: string
  /** a supervisor of the same file */
  readonly supervisor?: string
  readonly argv?: string[]
  readonly agent?: string
  readonly intent?: string
  readonly restart?: RestartWord | RestartConfig
  readonly name?: string
  readonly model?: string
  readonly cwd: string
  readonly interactive?: boolean
  readonly worktree?: boolean
  readonly permissions?: PermissionPolicy
  readonly limits?: Limits
}

/** A supervisor in the file. */
export interface FileSupervisor {
  readonly config: SupervisorConfig
  readonly limits: Limits | undefined
  readonly children: readonly FileChild[]
}

/** Returns the supervisor of that name. Errors: AGENT_INVALID if there is none. */
export function findSupervisorByName(all: Supervisors, name: string, file: string): FileSupervisor {
  const found = Object.hasOwn(all, name) ? all[name] : undefined
  if (!found) {
    const names = Object.keys(all)
    throw new KernelError(
      'AGENT_INVALID',
      names.length === 0 ? `${file} has no supervisors` : `there is no supervisor \`${name}\` in ${file}; there are ${names.join(', ')}`,
      undefined,
      'Add it below `supervisors:` in reeve.yaml (docs/concepts/supervision.md).',
    )
  }
  const { children, limits, strategy, ...intensity } = found
  return {
    config: { ...withoutUndefined({ strategy }), ...toSupervisorIntensity(intensity) },
    limits,
    children: children.map(({ id, command, cwd, restart, onComplete, ...rest }) => ({
      ...withoutUndefined(rest),
      childId: id,
      cwd: resolve(dirname(file), cwd ?? '.'),
      ...withoutUndefined({ argv: command, restart: withOnComplete(restart, onComplete) }),
    })),
  }
}

function toSupervisorIntensity(intensity: Parameters<typeof toIntensity>[0]): SupervisorConfig {
  const { backoff, ...rest } = toIntensity(intensity)
  return { ...rest, ...(backoff ? { backoff } : {}) }
}

function withOnComplete(
  restart: RestartWord | RestartConfig | undefined,
  onComplete: OnComplete | undefined,
): RestartWord | RestartConfig | undefined {
  if (onComplete === undefined) return restart
  return { ...(typeof restart === 'string' ? { type: restart } : (restart ?? { type: 'transient' })), onComplete }
}
