// Routes that export and import processes; routes.ts registers them.
// Tests: test/e2e/daemon/archive.test.ts, test/e2e/daemon/openapi.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { clientGoneSignal } from './client.ts'

export const ARCHIVE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'exportProcess',
    method: 'POST',
    path: '/v1/processes/:ref/export',
    right: 'all',
    closed: 'archive',
    summary: 'Exports the whole history of a process to a directory on this machine.',
    body: schemas.dirBody,
    answer: 'exported',
    errors: ['CONFLICT', 'DISK_FULL', 'STORE_DAMAGED'],
    example: { dir: '/backup' },
    handle: ({ archive }, { ref, body, reply }) => archive.export(ref, body.dir, clientGoneSignal(reply)),
  }),
  defineRoute({
    id: 'importProcesses',
    method: 'POST',
    path: '/v1/import',
    right: 'all',
    closed: 'archive',
    summary: 'Imports the processes that were exported to a directory on this machine.',
    body: schemas.dirBody,
    answer: 'imported',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    example: { dir: '/backup' },
    handle: ({ archive }, { body, reply }) => archive.import(body.dir, clientGoneSignal(reply)),
  }),
]
