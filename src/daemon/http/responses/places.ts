// Schemas of the directories in which agents were started, for src/api/views/agents.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, texts, time, version } from './fields.ts'

const place = z.object({
  dir: text.describe('a directory in which processes were started'),
  exists: z.boolean(),
  living: count.describe('the number of living processes that were started in it'),
  processes: count.describe('the number of processes that were started in it, of those that were read'),
  lastUsedAt: time,
  agents: texts.describe('the agents that were used in it, the most recently used one first'),
  trusted: z.boolean().describe('true: `trusted` of config.yaml contains it or a directory above'),
})

const places = z.object({
  version,
  places: z.array(place).describe('at most 200, the most recently used one first; from all living and the 500 newest ended processes'),
})

export const placeAnswers = { places }

export const PLACE_TYPES = { PlaceView: place, PlacesView: places }
