// docs/reference/crews.svg shows the current tables: a new state or arrow fails here until it is drawn.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { crewPicture } from '../../../scripts/crew-picture.ts'
import { PHASE_TABLE } from '../../../src/kernel/crew/state/phases.ts'
import { TASK_STATE_TABLE } from '../../../src/kernel/crew/state/task-states.ts'
import { ROOT } from '../../support/env.ts'

const svg = readFileSync(join(ROOT, 'docs/reference/crews.svg'), 'utf8')
const arrows = new Set([...svg.matchAll(/data-arrow="(\w+) (\w+)"/g)].map(([, from, to]) => `${from} ${to}`))

test('the file is the output of `node scripts/crew-picture.ts`', () => {
  expect(svg).toBe(crewPicture())
})

test.each(Object.entries(PHASE_TABLE))('each way out of the phase %s is drawn', (from, row) => {
  for (const to of Object.values(row)) if (to !== 'illegal') expect(arrows).toContain(`${from} ${to}`)
})

test.each(Object.entries(TASK_STATE_TABLE))('each transition from %s is drawn, except those in the note', (from, row) => {
  const inNote = new Set([...(from === 'merging' ? [] : ['done']), 'failed', 'cancelled', 'queued'])
  for (const to of Object.values(row)) if (to !== 'illegal' && to !== from && !inNote.has(to)) expect(arrows).toContain(`${from} ${to}`)
  for (const name of from.split('_')) expect(svg).toContain(name)
})
