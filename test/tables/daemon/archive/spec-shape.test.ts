// The spec of an import: specs that a daemon writes are valid, and a spec that this daemon cannot handle is refused.
import { expect, test } from 'vitest'
import { specProblem } from '../../../../src/daemon/archive/spec-shape.ts'
import { restartPolicyFrom, supervisorSpecFrom } from '../../../../src/kernel/supervise/policy-from-config.ts'
import { CREW_SPEC } from '../../../support/kernel/transcript-crew-inputs.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'

test('the specs of a supervisor and of a process with a restart policy are valid', () => {
  expect(
    specProblem(kernelSpec({ driver: 'supervisor', supervisor: supervisorSpecFrom({ strategy: 'rest_for_one' }), childId: 'inner' })),
  ).toBeNull()
  expect(specProblem(kernelSpec({ restart: restartPolicyFrom('always') }))).toBeNull()
  expect(specProblem(kernelSpec({ restart: restartPolicyFrom({ type: 'on-failure', maxRestarts: 2, backoff: { maxMs: 5 } }) }))).toBeNull()
})

test('a supervisor without its settings, and an unknown restart policy, are refused', () => {
  expect(specProblem(kernelSpec({ driver: 'supervisor' }))).toContain('a supervisor needs its settings')
  expect(specProblem(kernelSpec({ restart: { type: 'sometimes' } as never }))).not.toBeNull()
})

test('the specs of a crew and its members are valid; a crew without its settings is refused', () => {
  expect(specProblem(kernelSpec({ driver: 'crew', crew: CREW_SPEC }))).toBeNull()
  expect(specProblem(kernelSpec({ driver: 'crew', crew: { ...CREW_SPEC, git: null } }))).toBeNull()
  expect(specProblem(kernelSpec({ childId: 'worker-1', member: { crew: 'c', id: 'worker-1', role: 'generic' } }))).toBeNull()
  expect(specProblem(kernelSpec({ driver: 'crew' }))).toContain('a crew needs its settings')
  expect(specProblem(kernelSpec({ driver: 'crew', crew: { ...CREW_SPEC, roles: null } as never }))).not.toBeNull()
})

test('a native agent without a model, and a program without a command line, are refused', () => {
  expect(specProblem(kernelSpec({ model: null }))).toContain('needs a model')
  expect(specProblem(kernelSpec({ driver: 'acp' }))).toContain('needs a command line')
  expect(specProblem(kernelSpec({ driver: 'command' }))).toContain('needs a command line')
  expect(specProblem(kernelSpec({ driver: 'command', argv: ['make'] }))).toBeNull()
})

test.each<[string, object, RegExp]>([
  ['with an unknown policy', { permissions: { default: 'maybe' } }, /permissions\.default/],
  ['with permissions that are not an object', { permissions: 5 }, /permissions/],
  ['with a key of permissions that this version would not enforce', { permissions: { default: 'ask', never: [] } }, /permissions/],
  [
    'with a rule that cannot be enforced',
    { permissions: { default: 'ask', deny: ['read(.env)'] } },
    /permissions\.deny.*is not a rule for calls/,
  ],
  [
    'with instructions without a text',
    { instructions: { files: [{ path: '/a', name: 'a', sha256: 'x' }] } },
    /instructions\.files\.0\.text/,
  ],
])('a spec %s is refused', (_, fields, problem) => {
  expect(specProblem({ ...kernelSpec({ driver: 'native' }), ...fields })).toMatch(problem)
})

test('permissions with rules, and instructions, are accepted', () => {
  const permissions = { default: 'ask', allow: ['bash(npm test:*)', 'edit'], deny: ['write(secret)'] } as const
  const file = { path: '/a/AGENTS.md', name: 'AGENTS.md', sha256: 'x', text: 'Use tabs.' }
  expect(specProblem(kernelSpec({ driver: 'native', permissions, instructions: { files: [file] } }))).toBeNull()
})
