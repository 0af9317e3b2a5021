// The program that agents start for reeve's own tools on stdin and stdout. The build contains its text; the daemon writes the text into its
// temporary folder, because an upgrade may have removed the installation. Test: test/e2e/daemon/upgrade.test.ts.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The program's text, inserted by scripts/build.mjs; undefined when the sources run directly. */
declare const REEVE_MCP_PROGRAM: string | undefined

/** Returns the command line of the program. Writes its file first, if this is a build. */
export async function stdioProgram(tmpDir: string): Promise<string[]> {
  if (typeof REEVE_MCP_PROGRAM !== 'string') return [process.execPath, join(import.meta.dirname, '../../cli/main.ts'), 'mcp']
  const file = join(tmpDir, 'reeve-mcp.cjs')
  await writeFile(file, REEVE_MCP_PROGRAM, { mode: 0o600 })
  // The Node of the daemon may be replaced like its installation.
  return [existsSync(process.execPath) ? process.execPath : 'node', file, 'mcp']
}
