// The version of reeve, from package.json: inlined by the bundler, read beside the sources otherwise.
import manifest from '../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
