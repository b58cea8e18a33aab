"""The web page at `/`: plain HTML, CSS and JavaScript modules, served as they are; nothing comes from other sites."""
