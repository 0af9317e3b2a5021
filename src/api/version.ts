// The version of reeve, from package.json. The bundler inlines it; without a bundle the version is read from the file beside the sources.
import manifest from '../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
