export { ChangePasswordPage } from './ChangePasswordPage'
export { changePasswordLoader } from './loader'
export { SessionsPage } from './SessionsPage'
export { SettingLayout } from './SettingLayout'
