// `reeve version`. Test: test/e2e/cli.test.ts.
import type { Call } from '../verbs.ts'
import manifest from '../../../package.json' with { type: 'json' }

export async function run({ out }: Call): Promise<number> {
  if (out.json) await out.value({ reeve: manifest.version, node: process.versions.node })
  else await out.line(`reeve ${manifest.version} (Node.js ${process.versions.node})`)
  return 0
}
