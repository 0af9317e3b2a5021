// The routes of what keeps, collects and carries histories, one row each as in routes.ts, which has them all.
// Test: test/e2e/gc.test.ts, test/e2e/openapi.test.ts.
import { route, type Route } from './route.ts'
import * as schemas from './schemas.ts'
import { goneSignal } from './stream.ts'

export const HISTORY: readonly Route[] = [
  route({
    id: 'pinProcess', method: 'POST', path: '/v1/processes/:ref/pin', summary: 'Keeps a process from being collected, or takes that back.', body: schemas.pinBody, answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'], example: { pinned: true },
    handle: ({ pin, removals }, { ref, body }) => removals.alone(ref, (uuid) => pin(uuid, body.pinned)),
  }),
  route({
    id: 'previewCollection', method: 'GET', path: '/v1/gc', summary: 'What would be collected now.', answer: 'collected', errors: ['AGENT_INVALID'],
    handle: ({ collector }) => collector.preview(),
  }),
  route({
    id: 'collect', method: 'POST', path: '/v1/gc', summary: 'Collects now; answers when all is cleared away.', answer: 'collected', errors: ['AGENT_INVALID', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ collector }) => collector.run(),
  }),
  route({
    id: 'exportProcess', method: 'POST', path: '/v1/processes/:ref/export', summary: 'Writes its whole history to a directory of this machine.', body: schemas.dirBody, answer: 'exported',
    errors: ['CONFLICT', 'DISK_FULL', 'STORE_DAMAGED'], example: { dir: '/backup' },
    handle: ({ archive }, { ref, body, reply }) => archive.export(ref, body.dir, goneSignal(reply)),
  }),
  route({
    id: 'importProcesses', method: 'POST', path: '/v1/import', summary: 'Brings back what was exported to a directory of this machine.', body: schemas.dirBody, answer: 'imported',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'], example: { dir: '/backup' },
    handle: ({ archive }, { body, reply }) => archive.import(body.dir, goneSignal(reply)),
  }),
]
