// Routes that pin, rename, collect, export and import processes; routes.ts registers them.
// Test: test/e2e/daemon/gc.test.ts, test/e2e/daemon/openapi.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { clientGoneSignal } from './stream.ts'

export const ARCHIVE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'pinProcess',
    method: 'POST',
    path: '/v1/processes/:ref/pin',
    summary: 'Excludes a process from collection, or includes it again.',
    body: schemas.pinBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { pinned: true },
    handle: ({ annotations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => annotations.pin(uuid, body.pinned)),
  }),
  defineRoute({
    id: 'renameProcess',
    method: 'POST',
    path: '/v1/processes/:ref/rename',
    summary: 'Gives a process, dead or alive, a new name.',
    body: schemas.renameBody,
    answer: 'steered',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    example: { name: 'docs' },
    handle: ({ annotations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => annotations.rename(uuid, body.name)),
  }),
  defineRoute({
    id: 'previewCollection',
    method: 'GET',
    path: '/v1/gc',
    summary: 'Shows what a collection would remove now.',
    answer: 'collected',
    errors: ['AGENT_INVALID'],
    handle: ({ collector }) => collector.preview(),
  }),
  defineRoute({
    id: 'collect',
    method: 'POST',
    path: '/v1/gc',
    summary: 'Collects ended processes now; answers when their removal is complete.',
    answer: 'collected',
    errors: ['AGENT_INVALID', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ collector }) => collector.run(),
  }),
  defineRoute({
    id: 'exportProcess',
    method: 'POST',
    path: '/v1/processes/:ref/export',
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
    summary: 'Imports the processes that were exported to a directory on this machine.',
    body: schemas.dirBody,
    answer: 'imported',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    example: { dir: '/backup' },
    handle: ({ archive }, { body, reply }) => archive.import(body.dir, clientGoneSignal(reply)),
  }),
]
