// The key `store` of the user's config.yaml: which database keeps the processes of the home. Without it, they are in the file `store.db`.
// Test: test/tables/config/config.test.ts.
import * as z from 'zod'
import { DURABILITIES, type Durability } from '../../kernel/model/words.ts'

export interface StoreConfig {
  /** the URL of a PostgreSQL database, which may have a password; null: the file `store.db` */
  readonly url: string | null
  readonly durability: Durability
}

export const STORE_DEFAULTS: StoreConfig = { url: null, durability: 'replicated' }

const url = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'expected postgres://USER@HOST:PORT/DATABASE')
  .max(4096)

export const storeRule = z.strictObject({ url: url.optional(), durability: z.enum(DURABILITIES).optional() })

export const STORE_KEYS: readonly string[] = Object.keys(storeRule.shape)

/** Returns the value with only the server and the database of the URL: its other parts may have a password. */
export function redactedStore({ url: secret, durability = STORE_DEFAULTS.durability }: z.infer<typeof storeRule>): StoreConfig {
  if (secret === undefined) return { url: null, durability }
  const parsed = URL.parse(secret)
  return { url: parsed === null ? 'postgres://' : `${parsed.protocol}//${parsed.host}${parsed.pathname}`, durability }
}
