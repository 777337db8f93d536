package pdf

import (
	"os"
	"path/filepath"
	"slices"
)

// fontPaths are the locations of fonts with Japanese characters. The first path is relative to a directory that
// contains node_modules.
var fontPaths = []string{
	"node_modules/@expo-google-fonts/noto-sans-jp/400Regular/NotoSansJP_400Regular.ttf",
	"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
	"/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
	"/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
	"/usr/share/fonts/opentype/ipafont-gothic/ipag.ttf",
}

// FindFont returns the path of a font with Japanese characters, "" if it finds none. It searches for the npm package
// @expo-google-fonts/noto-sans-jp in the working directory, the directory of the executable and their parents, and then
// for fonts of the system.
func FindFont() string {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			starts = append(starts, filepath.Dir(real))
		}
	}
	for _, path := range fontPaths {
		candidates := []string{path}
		if !filepath.IsAbs(path) {
			candidates = nil
			for _, dir := range starts {
				for ; !slices.Contains(candidates, filepath.Join(dir, path)); dir = filepath.Dir(dir) {
					candidates = append(candidates, filepath.Join(dir, path))
				}
			}
		}
		for _, candidate := range candidates {
			if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
				return candidate
			}
		}
	}
	return ""
}
