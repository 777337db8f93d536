/** Stands in for @ungap/structured-clone (see the alias in vite.config.ts): every browser that the app runs in has its own. */
export default structuredClone
