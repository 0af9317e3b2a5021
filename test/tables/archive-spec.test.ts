// The spec of what is imported: whatever a daemon writes is one, and what a daemon would stumble over is none.
import { expect, test } from 'vitest'
import { specProblem } from '../../src/daemon/archive/spec-shape.ts'
import { policyOf, supervisorOf } from '../../src/supervise/asked.ts'
import { CREW } from '../support/kernel/script-crew.ts'
import { kernelSpec } from '../support/kernel/world.ts'

test('a supervisor, and what comes back by itself', () => {
  expect(specProblem(kernelSpec({ driver: 'supervisor', supervisor: supervisorOf({ strategy: 'rest_for_one' }), childId: 'inner' }))).toBeNull()
  expect(specProblem(kernelSpec({ restart: policyOf('always') }))).toBeNull()
  expect(specProblem(kernelSpec({ restart: policyOf({ type: 'on-failure', maxRestarts: 2, backoff: { maxMs: 5 } }) }))).toBeNull()
})

test('a supervisor that does not say how it keeps its children is none', () => {
  expect(specProblem(kernelSpec({ driver: 'supervisor' }))).toContain('how it keeps its children')
  expect(specProblem(kernelSpec({ restart: { type: 'sometimes' } as never }))).not.toBeNull()
})

test('a crew and its members; one that does not say how it works is none', () => {
  expect(specProblem(kernelSpec({ driver: 'crew', crew: CREW }))).toBeNull()
  expect(specProblem(kernelSpec({ driver: 'crew', crew: { ...CREW, git: null } }))).toBeNull()
  expect(specProblem(kernelSpec({ childId: 'worker-1', member: { crew: 'c', id: 'worker-1', role: 'generic' } }))).toBeNull()
  expect(specProblem(kernelSpec({ driver: 'crew' }))).toContain('how it works')
  expect(specProblem(kernelSpec({ driver: 'crew', crew: { ...CREW, roles: null } as never }))).not.toBeNull()
})
