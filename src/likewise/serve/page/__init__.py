"""The web page at `/`: plain HTML, CSS and JavaScript modules, sent as they lie here; nothing comes from elsewhere."""
