// `reeve version`: prints the versions of reeve and Node.js. Test: test/e2e/cli/cli.test.ts.
import manifest from '../../../../package.json' with { type: 'json' }
import type { VerbCall } from '../../table/verb.ts'

export async function run({ out }: VerbCall): Promise<number> {
  if (out.json) await out.value({ reeve: manifest.version, node: process.versions.node })
  else await out.line(`reeve ${manifest.version} (Node.js ${process.versions.node})`)
  return 0
}
