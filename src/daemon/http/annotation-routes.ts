// Routes that annotate processes: pin, mark as seen, snooze, rename, label. routes.ts registers them.
// Tests: gc.test.ts and openapi.test.ts in test/e2e/daemon, test/e2e/naming/rename.test.ts, test/e2e/lifecycle/needs.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'

export const ANNOTATION_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'pinProcess',
    method: 'POST',
    path: '/v1/processes/:ref/pin',
    right: 'steer',
    summary: 'Excludes a process from collection, or includes it again.',
    body: schemas.pinBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { pinned: true },
    handle: ({ annotations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => annotations.pin(uuid, body.pinned)),
  }),
  defineRoute({
    id: 'markSeen',
    method: 'POST',
    path: '/v1/processes/:ref/seen',
    right: 'answer',
    summary: 'Records that the user has seen what a process asks, or how it ended.',
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    handle: ({ annotations, removals }, { ref }) => removals.runExclusively(ref, (uuid) => annotations.markSeen(uuid)),
  }),
  defineRoute({
    id: 'snoozeProcess',
    method: 'POST',
    path: '/v1/processes/:ref/snooze',
    right: 'answer',
    summary: 'Puts the present needs of a process off until a time; null shows them again.',
    body: schemas.snoozeBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { until: '2026-07-01T09:00:00.000Z' },
    handle: ({ annotations, removals }, { ref, body }) =>
      removals.runExclusively(ref, (uuid) => annotations.snooze(uuid, body.until === null ? null : Date.parse(body.until))),
  }),
  defineRoute({
    id: 'renameProcess',
    method: 'POST',
    path: '/v1/processes/:ref/rename',
    right: 'steer',
    summary: 'Gives a process, dead or alive, a new name.',
    body: schemas.renameBody,
    answer: 'steered',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    example: { name: 'docs' },
    handle: ({ annotations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => annotations.rename(uuid, body.name)),
  }),
  defineRoute({
    id: 'labelProcess',
    method: 'POST',
    path: '/v1/processes/:ref/labels',
    right: 'steer',
    summary: 'Changes labels of a process, dead or alive; null removes one.',
    body: schemas.labelBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { labels: { team: 'web', draft: null } },
    handle: ({ annotations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => annotations.label(uuid, body.labels)),
  }),
]
