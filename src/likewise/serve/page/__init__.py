"""The web page at `/`: plain HTML, CSS and JavaScript modules, served unchanged; nothing is loaded from other sites."""
