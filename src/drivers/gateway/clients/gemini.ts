// Gemini CLI, by ACP and by `-p`. With an address in its environment, and no word in its settings about how it logs in, it takes
// a way that ACP knows and `-p` refuses. Test: test/tables/gateway-clients.test.ts.
import { join } from 'node:path'
import { has } from '../../command/formats/args.ts'
import { GEMINI_OPTIONS } from '../../command/formats/gemini.ts'
import { firstSet, homeOf, jsonOf, object, string } from './client.ts'
import type { Calls, Client, Own } from './client.ts'

const BY_KEY = 'gemini-api-key'

export const gemini: Client = {
  title: 'Gemini CLI',
  names: ['gemini', '@google/gemini-cli'],
  options: GEMINI_OPTIONS,
  calls,
  told: ({ url, token }) => ({ env: { GOOGLE_GEMINI_BASE_URL: url('google') ?? '', GEMINI_API_KEY: token } }),
}

function calls(own: Own): Calls {
  const home = join(own.env['GEMINI_CLI_HOME'] ?? homeOf(own), '.gemini/settings.json')
  const chosen = chosenIn(own, join(own.cwd, '.gemini/settings.json')) || chosenIn(own, home)
  return { providers: ['google'], elsewhere: elsewhere(own, chosen, home), login: chosen === '' || chosen === BY_KEY ? undefined : `its settings log in by ${chosen}` }
}

function elsewhere({ env, command }: Own, chosen: string, home: string): string | undefined {
  const other = firstSet(env, ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'])
  if (other !== undefined) return `${other} is set: it calls its models elsewhere`
  if (chosen !== '' || has(command, '--acp', '--experimental-acp')) return undefined
  return `it takes another address only if ${home} says {"security":{"auth":{"selectedType":"${BY_KEY}"}}}`
}

function chosenIn({ read }: Own, path: string): string {
  return string(object(object(jsonOf(read(path))['security'])['auth'])['selectedType'])
}
