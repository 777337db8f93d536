/** The most characters a question may have. */
export const maxLength = 32_000
