// docs/crews.svg shows the tables as they are: a state or an arrow that is new fails here until it is drawn.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { picture } from '../../scripts/crew-picture.ts'
import { PHASES } from '../../src/crew/phases.ts'
import { TASKS } from '../../src/crew/tasks.ts'
import { ROOT } from '../support/env.ts'

const svg = readFileSync(join(ROOT, 'docs/crews.svg'), 'utf8')
const arrows = new Set([...svg.matchAll(/data-arrow="(\w+) (\w+)"/g)].map(([, from, to]) => `${from} ${to}`))

test('it is what the script draws (`node scripts/crew-picture.ts`)', () => {
  expect(svg).toBe(picture())
})

test.each(Object.entries(PHASES))('each way out of the phase %s is drawn', (from, row) => {
  for (const to of Object.values(row)) if (to !== 'illegal') expect(arrows).toContain(`${from} ${to}`)
})

test.each(Object.entries(TASKS))('each way out of a task that is %s is drawn, but what is told in words', (from, row) => {
  const told = new Set([...(from === 'merging' ? [] : ['done']), 'failed', 'cancelled', 'queued'])
  for (const to of Object.values(row)) if (to !== 'illegal' && to !== from && !told.has(to)) expect(arrows).toContain(`${from} ${to}`)
  for (const name of from.split('_')) expect(svg).toContain(name)
})
