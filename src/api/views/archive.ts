// The JSON of the API: export and import. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/daemon/archive.test.ts.

/** A directory of the client: an absolute path. */
export interface DirBody {
  dir: string
}

export interface ExportedView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /** the created directory: DIR/steps/UUID */
  dir: string
  facts: number
  steps: number
  bytes: number
}

export interface ImportedView {
  version: 1
  processes: {
    uuid: string
    pid: number
    name: string | null
    facts: number
    /** the directory that it was imported from */
    dir: string
    /** problems that did not prevent the import */
    warnings: string[]
  }[]
}
