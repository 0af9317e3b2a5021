// Gemini CLI, by ACP and by `-p`. With an address in its environment and no word about how it logs in it takes a way that it
// then refuses, so that a file of defaults, which any setting of the user's goes before, says that it has a key.
// Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { GEMINI_OPTIONS } from '../../command/formats/gemini.ts'
import { firstSet, homeOf, jsonOf, object, string } from './client.ts'
import type { Calls, Client, Own, Told, Way } from './client.ts'

const BY_KEY = 'gemini-api-key'
const DEFAULTS = 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH'
const SYSTEM_DEFAULTS = '/etc/gemini-cli/system-defaults.json'

export const gemini: Client = {
  title: 'Gemini CLI',
  names: ['gemini', '@google/gemini-cli'],
  options: GEMINI_OPTIONS,
  calls,
  told,
}

function calls(own: Own): Calls {
  const other = firstSet(own.env, ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'])
  const chosen = chosenIn(own, join(own.env['GEMINI_CLI_HOME'] ?? homeOf(own), '.gemini/settings.json')) || chosenIn(own, join(own.cwd, '.gemini/settings.json'))
  return {
    providers: ['google'],
    elsewhere: other === undefined ? undefined : `${other} is set: it calls its models elsewhere`,
    login: chosen === '' || chosen === BY_KEY ? undefined : `its settings log in by ${chosen}`,
  }
}

function chosenIn({ read }: Own, path: string): string {
  return string(object(object(jsonOf(read(path))['security'])['auth'])['selectedType'])
}

function told(way: Way): Told {
  const file = join(way.dir, 'gemini-defaults.json')
  const own = jsonOf(way.read(way.env[DEFAULTS] ?? SYSTEM_DEFAULTS))
  const security = object(own['security'])
  const text = JSON.stringify({ ...own, security: { ...security, auth: { ...object(security['auth']), selectedType: BY_KEY } } })
  return { env: { GOOGLE_GEMINI_BASE_URL: way.url('google') ?? '', GEMINI_API_KEY: way.token, [DEFAULTS]: file }, files: { [file]: text } }
}
